import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Memory } from "memslot";
import { randomOf } from "./random.ts";

/** What a crowd of savers has seen. */
export interface CrowdOutcome {
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
  const random = randomOf(seed);
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
