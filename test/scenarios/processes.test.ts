import { readdirSync, readlinkSync } from "node:fs";
import { expect, test } from "vitest";
import { useHouse } from "../support/temp-workspace.ts";
import { expectOneBuildAnswers, rebuilds } from "../support/rebuild-checks.ts";
import { resultOf } from "../support/start-memory.ts";

// `storms/several-processes.long.test.ts` has the other rebuilds.
test.each(rebuilds.slice(0, 1))(
  "while a rebuild for $what is under way every answer is of the build that is whole, and of what was saved since",
  (rebuild) => expectOneBuildAnswers(rebuild),
);

// Times and memory are measured by the bench.
const folders = 300;
const filesOfFolder = 4;
const mostWatches = 10;

test.skipIf(process.platform === "win32")(
  "files in 300 folders are indexed and watched with 256 descriptors",
  { timeout: 180_000 },
  async () => {
    const house = useHouse();
    for (let index = 0; index < folders * filesOfFolder; index++)
      house.write({
        [`memory/f-${index % folders}/note-${index}.md`]: `# Note ${index}\n\nThe kitten knows word${index}.\n`,
      });
    const memory = house.start({ memorySearch: { sync: { watchDebounceMs: 50 } } }, { limits: "ulimit -n 256" });
    resultOf(await memory.open());
    expect(resultOf(await memory.sync())).toMatchObject({ added: folders * filesOfFolder, failed: [] });
    for (const index of [1, 511, 1199])
      expect(resultOf(await memory.search(`word${index}`)).results[0]?.path).toBe(
        `memory/f-${index % folders}/note-${index}.md`,
      );
    expect(resultOf(await memory.sync())).toMatchObject({ added: 0, changed: 0, removed: 0 });

    const { watch, files } = resultOf(await memory.status());
    expect(files).toBe(folders * filesOfFolder);
    if (process.platform === "linux") expect(watchDescriptors(memory.pid)).toBeLessThanOrEqual(mostWatches);
    // Either it sees a change by itself, or it says why not; a search finds it all the same.
    expect(watch?.mode === "off" ? watch.reason : "watched").toBeTruthy();
    house.write({ "memory/f-7/late.md": "A puffin came by.\n" });
    for (let found = false; !found;) {
      const { results, report } = resultOf(await memory.search("puffin"));
      found = results[0]?.path === "memory/f-7/late.md";
      // On a busy machine an answer does not wait for the look at so many files, and says so.
      if (!found) expect(report.state).toBe("stale");
    }
    resultOf(await memory.close());
    expect(memory.stderr()).toBe("");
  },
);

/** Descriptors that a process watches files with. */
function watchDescriptors(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter((name) => {
    try {
      return readlinkSync(`${folder}/${name}`).includes("inotify");
    } catch {
      return false;
    }
  }).length;
}
