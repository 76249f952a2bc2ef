import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { appendNote, sessionStartContext, writeSessionNote } from "@memslot/agent-kit";
import type { Memory } from "memslot";
import { randomFrom } from "@memslot/test-tools/random";
import type { House } from "./temp-workspace.ts";

/** What stands in files that no answer may hold. */
const secret = "CANARY";
const today = "2026-11-22";
const at = new Date(`${today}T12:00:00Z`);

/** Makes the program that lets names change places. A string says why there is none on this machine. */
export function buildSwapLoop(folder: string): { program: string } | string {
  if (process.platform !== "linux") return "two names change places in one step on Linux only";
  const program = path.join(folder, "swap-loop");
  const args = ["-O1", "-o", program, path.join(import.meta.dirname, "swap-loop.c")];
  const { status, stderr, error } = spawnSync("cc", args, { encoding: "utf8", timeout: 60_000 });
  if (error !== undefined) return `there is no C compiler (cc: ${error.message})`;
  return status === 0 ? { program } : `swap-loop.c does not compile here: ${stderr}`;
}

/** What came of it while a folder of the workspace changed places with a link, again and again. */
export interface SwapCounts {
  swaps: number;
  appended: number;
  refused: number;
  read: number;
  /** Reads, searches and session starts that held what stands outside. */
  leaked: number;
  /** Files and folders outside that are new or not what they were. */
  changed: string[];
}

/**
 * Appends, writes session notes, reads, starts sessions and brings the index up to date while `swapped`, a folder of the
 * workspace, changes places with a link that leads out of it.
 */
export async function swapStorm(
  house: House,
  memory: Memory,
  input: { program: string; swapped: "memory" | "memory/deep"; rounds: number; seed?: number },
): Promise<SwapCounts> {
  const { program, swapped, rounds, seed = 1 } = input;
  // The round that it begins with: every kind of access comes in each sixteen.
  const from = randomFrom(seed).below(2000);
  const outside = path.join(house.folder, "outside");
  for (const inside of ["", "deep"]) {
    mkdirSync(path.join(outside, inside), { recursive: true });
    for (const name of [`${today}.md`, "a.md", "outside-only.md"])
      writeFileSync(path.join(outside, inside, name), `The ${secret} of somebody else.\n`);
  }
  // A log that is not there outside would have to be made there.
  const before = contentOf(outside);
  const folder = path.join(house.notes, swapped);
  const link = path.join(house.notes, "link");
  symlinkSync(swapped === "memory" ? outside : path.join(outside, "deep"), link);
  const counts: SwapCounts = { swaps: 0, appended: 0, refused: 0, read: 0, leaked: 0, changed: [] };
  const told = (text: string): void => {
    counts.read++;
    if (text.includes(secret)) counts.leaked++;
  };
  const loop = spawn(program, [folder, link], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    for (let round = from; round < from + rounds; round++) {
      await attempt(counts, async () => {
        // Every other note begins a log.
        const day = new Date(at.getTime() - (round % 2) * (1 + (round % 2000)) * 86_400_000);
        await appendNote({
          workspaceDir: house.notes,
          text: `fact ${round}`,
          kind: "daily",
          at: day,
          timeZone: "UTC",
        });
        counts.appended++;
      });
      await attempt(counts, async () => {
        const { text } = await memory.readFile({
          relPath: round % 2 === 0 ? "memory/deep/a.md" : `memory/${today}.md`,
        });
        told(text);
      });
      if (round % 4 === 0)
        await attempt(counts, async () => {
          const session = { kind: "main", private: true } as const;
          told((await sessionStartContext({ workspaceDir: house.notes, now: at, timeZone: "UTC", session })).text);
        });
      if (round % 8 === 0)
        await attempt(counts, async () => {
          const written = await writeSessionNote({
            workspaceDir: house.notes,
            session: { key: "main", id: `session-${round}` },
            messages: [{ role: "user", text: "hello", id: "1", at: at.toISOString() }],
            describe: async () => ({ slug: `talk-${round}`, text: "They talked." }),
            at,
            timeZone: "UTC",
          });
          if (written.path === undefined) throw new Error(written.reason);
          counts.appended++;
        });
      if (round % 16 === 0)
        await attempt(counts, async () => {
          await memory.sync();
          told(JSON.stringify(await memory.search(`${secret} somebody else`)));
        });
    }
  } finally {
    counts.swaps = await ended(loop);
  }
  const after = contentOf(outside);
  counts.changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (name) => before.get(name) !== after.get(name),
  );
  // In whatever order it ended, the folder is the folder again; what was indexed last has to come from it.
  if (
    readdirSync(house.notes, { withFileTypes: true })
      .find(({ name }) => name === "link")
      ?.isDirectory() === true
  ) {
    renameSync(folder, `${link}-away`);
    renameSync(link, folder);
  }
  await memory.sync();
  told(JSON.stringify(await memory.search(`${secret} somebody else`)));
  return counts;
}

async function attempt(counts: SwapCounts, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch {
    // To lose the race is an error. What matters is what it has left behind.
    counts.refused++;
  }
}

async function ended(loop: ChildProcess): Promise<number> {
  let printed = "";
  loop.stdout?.on("data", (data: Buffer) => (printed += String(data)));
  const closed = new Promise((resolve) => loop.once("close", resolve));
  loop.kill("SIGTERM");
  await closed;
  return Number(printed);
}

/** Every name below a folder with what it holds. */
function contentOf(folder: string): Map<string, string> {
  const content = new Map<string, string>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    content.set(path.relative(folder, file), entry.isFile() ? readFileSync(file, "utf8") : "folder");
  }
  return content;
}
