import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";

/** Runs `work` and returns what it printed, to the streams of the process or with `console`. */
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

/** Runs `work` and returns its unhandled rejections. The runner does not see them: the check reports them. */
export async function withRejections(work: () => Promise<void>): Promise<string[]> {
  const unseen: string[] = [];
  const others = process.listeners("unhandledRejection");
  const note = (reason: unknown): void => void unseen.push(String(reason));
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", note);
  try {
    await work();
    // Node reports a rejection when the microtasks of a turn are done.
    for (let turns = 0; turns < 5; turns++) await turn();
  } finally {
    process.removeListener("unhandledRejection", note);
    for (const listener of others) process.on("unhandledRejection", listener);
  }
  return unseen;
}

/**
 * Runs `work` with its own home folder and folder for temporary files, created below `base`. Returns the names of files that
 * it left in them. Waits up to `patienceMs` for them to be removed.
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

/** Files only: LanceDB leaves an empty folder if a call is aborted. */
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

/** A clock that does not count the time in which this thread waits for a processor, if the system reports that. */
function ownTimeMs(): number {
  const waitedNs = existsSync(schedule) ? Number(readFileSync(schedule, "utf8").split(" ")[1]) : 0;
  return performance.now() - (waitedNs || 0) / 1e6;
}
