import { setTimeout as sleep } from "node:timers/promises";
import { randomFrom } from "@memslot/test-tools/random";
import type { RootWatch } from "../../watch/watch-roots.ts";
import { createChangingNotes } from "./changing-notes.ts";
import { openFreshIndex } from "./fresh-index.ts";

export interface Walked {
  searches: number;
  /** Searches that looked at all files, and those that were given nothing but what was told. */
  swept: number;
  told: number;
  /** The first answer that was called fresh and was not: what was done since the one before, and what was wrong. */
  stale: { after: string[]; wrong: string[] } | undefined;
  sweepAgrees: boolean;
}

/** Changes notes and searches in any order, and compares each fresh answer with the files. Ends with the first stale one. */
export async function walkAtRandom(input: {
  place: string;
  seed: number;
  steps: number;
  news?: ((real: RootWatch["news"]) => RootWatch["news"]) | undefined;
}): Promise<Walked> {
  const { place, seed, steps, news } = input;
  const { chance, below } = randomFrom(seed + 1);
  const notes = createChangingNotes(place, seed);
  const { workspace, extra } = notes;
  const fresh = await openFreshIndex({ workspace, extra, stateDir: `${place}/state`, news });
  const walked: Walked = { searches: 0, swept: 0, told: 0, stale: undefined, sweepAgrees: false };
  let after: string[] = [];
  try {
    for (let step = 0; step < steps && walked.stale === undefined; step++) {
      if (chance(0.6)) {
        after.push(notes.change());
        continue;
      }
      // Editors and agents pause now and then: the watcher has done more or less of its work by the next change.
      if (chance(0.3)) await sleep(below(8));
      if (chance(0.05)) await fresh.index.look("watch");
      if (chance(0.05)) fresh.watch.refresh();
      walked.searches++;
      const isFresh = await fresh.tryFreshen();
      if (fresh.catchUp.whySwept() === undefined) walked.told++;
      else walked.swept++;
      // What cannot be read, as where a link stands for the workspace, is left out of an answer, which says so.
      if (!isFresh || fresh.index.facts().lastSync?.report.failed.length !== 0) continue;
      const wrong = differences(notes.truth(), await fresh.held());
      if (wrong.length > 0) walked.stale = { after, wrong };
      after = [];
    }
    await fresh.freshen();
    walked.sweepAgrees = await fresh.sweepAgrees();
    return walked;
  } finally {
    await fresh.close();
  }
}

function differences(truth: Record<string, string>, held: Record<string, string>): string[] {
  return [...new Set([...Object.keys(truth), ...Object.keys(held)])]
    .filter((note) => truth[note] !== held[note])
    .map((note) => `${note}: is ${truth[note] ?? "not there"}, and the index has ${held[note] ?? "nothing"}`);
}
