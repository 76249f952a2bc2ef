import { execFileSync, spawnSync } from "node:child_process";
import {
  appendFileSync,
  closeSync,
  cpSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import { randomFrom } from "@memslot/test-tools/random";
import { eventually } from "@memslot/test-tools/wait";
import type { Memory } from "memslot";
import { expect } from "vitest";
import { ask, type House, useHouse } from "./temp-workspace.ts";

const day = new Date(2024, 4, 5, 12);
export const twoBirds = {
  "memory/a.md": "The puffin is on the cliff.\n",
  "memory/b.md": "The gannet is on the cliff.\n",
};

/** A way to replace the content of `memory/a.md` by that of `memory/b.md` without a change of its size and modification time. */
export interface Way {
  name: string;
  /** The programs that it takes. */
  needs: readonly string[];
  change: (at: (name: string) => string) => void;
}

/** Scripts of the shell, run in the folder of the notes. */
const scripts = JSON.parse(readFileSync(path.join(import.meta.dirname, "../data/quiet-saves.json"), "utf8")) as {
  name: string;
  needs: string[];
  script: string;
}[];

export const ways: readonly Way[] = [
  ...scripts.map(({ name, needs, script }): Way => {
    const change: Way["change"] = (at) =>
      void execFileSync("sh", ["-ec", script], { cwd: at("."), stdio: "ignore", timeout: 30_000 });
    return { name, needs: ["sh", ...needs], change };
  }),
  {
    name: "a write in place, with the time set back",
    needs: [],
    change(at) {
      const file = openSync(at("memory/a.md"), "r+");
      writeSync(file, "gannet", 4);
      closeSync(file);
      utimesSync(at("memory/a.md"), day, day);
    },
  },
  {
    name: "a folder that replaces another",
    needs: [],
    change(at) {
      cpSync(at("memory/b.md"), at("aside/memory/a.md"), { preserveTimestamps: true });
      renameSync(at("memory"), at("before"));
      renameSync(at("aside/memory"), at("memory"));
    },
  },
];

/** Programs that are not installed here. */
function missing({ needs }: Way): string[] {
  return needs.filter((program) => spawnSync(program, ["--version"], { stdio: "ignore" }).error !== undefined);
}

/** Waits until the index relies on what the file system tells: a look at files that were saved just now reads them again. */
export async function rested(house: House, memory: Memory): Promise<void> {
  const isOld = (name: string): boolean => Date.now() - lstatSync(house.at(name)).ctimeMs > 100;
  await eventually(() => Object.keys(twoBirds).every(isOld));
  await memory.sync();
  expect(await memory.sync()).toMatchObject({ changed: 0, unchanged: 2 });
}

/** A change of a note that the file system hardly shows is found by the next search. */
export async function expectFoundAfter(way: Way, skip: (reason: string) => void): Promise<void> {
  const absent = missing(way);
  if (absent.length > 0) return skip(`there is no ${absent.join(", ")}`);
  const house = useHouse(twoBirds);
  for (const name of Object.keys(twoBirds)) utimesSync(house.at(name), day, day);
  const memory = await house.open({ memorySearch: { sync: { watch: false } } });
  await memory.sync();
  await rested(house, memory);
  const places = async (query: string): Promise<string[]> => {
    const { results, report } = await ask(memory, query);
    expect(report.state).toBe("ok");
    return results.map((result) => `${result.path}: ${result.snippet.trim()}`);
  };
  expect(await places("puffin")).toEqual(["memory/a.md: The puffin is on the cliff."]);

  const before = statSync(house.at("memory/a.md"));
  way.change(house.at);
  const { size, mtimeMs } = statSync(house.at("memory/a.md"));
  expect([size, Math.floor(mtimeMs / 1000)]).toEqual([before.size, Math.floor(before.mtimeMs / 1000)]);
  expect(await places("gannet")).toContain("memory/a.md: The gannet is on the cliff.");
  expect(await places("puffin")).not.toContain("memory/a.md: The puffin is on the cliff.");
}

/** What a crowd of savers has seen. */
interface CrowdOutcome {
  saved: number;
  /** Words that a finished `sync` did not find although they had been saved before it was called. */
  lost: string[];
}

/**
 * Savers that write notes at the same time, each into a file of its own or into one of all, and call `sync` for each:
 * what was saved before the call has to be found after it, whatever else was being synced meanwhile. The memory must not
 * look at the files by itself.
 */
export async function saveInACrowd(
  memory: Memory,
  { savers, rounds, seed }: { savers: number; rounds: number; seed: number },
): Promise<CrowdOutcome> {
  const outcome: CrowdOutcome = { saved: 0, lost: [] };
  const random = randomFrom(seed);
  const folder = path.join(memory.workspaceDir, "memory");
  mkdirSync(folder, { recursive: true });

  async function save(saver: number): Promise<void> {
    for (let round = 0; round < rounds; round++) {
      // Some come while another one is looking, some at its end.
      for (let turns = random.below(12); turns > 0; turns--) await new Promise(setImmediate);
      const word = `zq${saver}w${round}x`;
      if (round % 2 === 0) writeFileSync(path.join(folder, `saver-${saver}-${round}.md`), `A note of ${word}.\n`);
      else appendFileSync(path.join(folder, "shared.md"), `- a line of ${word}\n`);
      await memory.sync();
      outcome.saved++;
      const found = await memory.search(word);
      if (!found.some(({ snippet }) => snippet.includes(word))) outcome.lost.push(word);
    }
  }

  await Promise.all(Array.from({ length: savers }, (_, saver) => save(saver)));
  return outcome;
}
