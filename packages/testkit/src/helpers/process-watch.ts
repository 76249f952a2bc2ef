import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";

/** Runs `work` and returns its unhandled rejections, which the runner does not see. */
export async function withPrinted(work: () => Promise<void>): Promise<string[]> {
  const printed: string[] = [];
  const keep = (text: unknown): boolean => printed.push(String(text)) > 0;
  const streams = [process.stdout, process.stderr].map((stream) => ({ stream, write: stream.write }));
  const methods = ["log", "info", "warn", "error", "debug", "trace"] as const;
  const own = methods.map((method) => ({ method, print: console[method] }));
  for (const { stream } of streams) stream.write = keep;
  for (const { method } of own) console[method] = (...words: unknown[]) => void keep(words.join(" "));
  try {
    await work();
    await turn();
  } finally {
    for (const { stream, write } of streams) stream.write = write;
    for (const { method, print } of own) console[method] = print;
  }
  return printed;
}

/** Runs `work` and gives back what was rejected with nobody to see it. The runner is not told: the check says it. */
export async function withRejections(work: () => Promise<void>): Promise<string[]> {
  const unseen: string[] = [];
  const others = process.listeners("unhandledRejection");
  const note = (reason: unknown): void => void unseen.push(String(reason));
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", note);
  try {
    await work();
    // Node tells of a rejection when the microtasks of a turn are done.
    for (let turns = 0; turns < 5; turns++) await turn();
  } finally {
    process.removeListener("unhandledRejection", note);
    for (const listener of others) process.on("unhandledRejection", listener);
  }
  return unseen;
}

/**
 * Runs `work` with a home folder and a folder for temporary files of its own, made below `base`. Gives back the names of
 * what it has left in them, also after a while: a library may tidy up behind.
 */
export async function withFolders(base: string, patienceMs: number, work: () => Promise<void>): Promise<string[]> {
  const [home, temporary] = [join(base, "home"), join(base, "tmp")];
  for (const folder of [home, temporary]) await mkdir(folder, { recursive: true });
  const given = { HOME: home, USERPROFILE: home, TMPDIR: temporary, TEMP: temporary, TMP: temporary };
  const before = Object.fromEntries(Object.keys(given).map((name) => [name, process.env[name]]));
  Object.assign(process.env, given);
  try {
    await work();
  } finally {
    for (const [name, value] of Object.entries(before))
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  }
  for (let waitedMs = 0; ; waitedMs += 50) {
    const listed = Promise.all([readdir(home, { recursive: true }), filesIn(temporary)]);
    // A folder that vanishes while it is listed is being cleaned up: it is listed again.
    const left = (await listed.catch((error: unknown) => [[String(error)]])).flat();
    if (left.length === 0 || waitedMs >= patienceMs) return left;
    await sleep(50);
  }
}

/**
 * An empty folder tells nothing of anybody, and a library may leave one where a call was given up in its middle, as was seen of
 * LanceDB.
 */
async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
}

/**
 * The longest time for which `work` blocked this thread, in milliseconds. Time in which the system gave the processor to
 * other threads is not counted.
 */
export async function longestBlockMs(work: () => Promise<void>): Promise<number> {
  let longest = 0;
  let last = ownTimeMs();
  const look = (): void => {
    const now = ownTimeMs();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(look, 5);
  try {
    await work();
    look();
  } finally {
    clearInterval(timer);
  }
  return longest;
}

const schedule = "/proc/thread-self/schedstat";

/** A clock that stands still while this thread waits for a processor; where the system does not report that, a plain clock. */
function ownTimeMs(): number {
  const waitedNs = existsSync(schedule) ? Number(readFileSync(schedule, "utf8").split(" ")[1]) : 0;
  return performance.now() - (waitedNs || 0) / 1e6;
}
