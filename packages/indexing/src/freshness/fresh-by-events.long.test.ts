import { expect, test } from "vitest";
import { tempFolder as folderWith } from "@memslot/test-tools/files";
import { walkAtRandom } from "./test/random-walk.ts";

const [walks, stepsOfEach] = [10, 2000];

test.runIf(process.platform === "linux").each(Array.from({ length: walks }, (_, walk) => 100 + walk))(
  "in 20,000 changes and searches no stale answer is called fresh, and each walk ends as a sweep finds it (walk %i)",
  async (seed) => {
    const walked = await walkAtRandom({ place: folderWith(), seed, steps: stepsOfEach });
    expect(walked).toMatchObject({ stale: undefined, sweepAgrees: true });
    expect(walked.told).toBeGreaterThan(walked.searches / 2);
  },
  600_000,
);
