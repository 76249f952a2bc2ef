import { describe, expect, test } from "vitest";
import { useTempFolders } from "../../test/support/temp-folder.ts";
import { walkAtRandom } from "./test/random-walk.ts";

const folderWith = useTempFolders();

test.each([1, 2, 3])("walk %i", async (seed) => {
  const walked = await walkAtRandom({ place: folderWith(), seed, steps: 300 });
  console.log(walked);
  expect(walked).toMatchObject({ stale: undefined, sweepAgrees: true });
});
