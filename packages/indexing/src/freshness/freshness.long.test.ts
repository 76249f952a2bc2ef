import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { tempFolder as folderWith } from "@memslot/test-tools/files";
import { walkAtRandom } from "./test/random-walk.ts";

describe.runIf(process.platform === "linux")("in a process with few open files", () => {
  const script = path.join(import.meta.dirname, "test/watch-process.ts");
  const inProcess = (limit: number, mode: string, folder: string): Record<string, unknown> => {
    const command = `ulimit -n ${limit}; exec "$0" --conditions=@memslot/source "$@"`;
    const output = execFileSync("sh", ["-c", command, process.execPath, script, mode, folder], {
      encoding: "utf8",
      timeout: 60_000,
    });
    return JSON.parse(output) as Record<string, unknown>;
  };

  // With no free descriptor the thread cannot start; with a few it cannot load the watcher, list or watch a folder.
  // Node decides how many it needs.
  test.each([0, 1, 2, 3, 4, 5, 6, 7])(
    "%i left: watching is off with the reason, unless they are enough, and begins when there are more",
    (left) => {
      const on = { mode: "folders", folders: 1 };
      const { first, ...result } = inProcess(60, `exhausted-${left}`, folderWith({ "memory/a.md": "a" }));
      const isOff = left === 0 || JSON.stringify(first) !== JSON.stringify(on);
      const reason = expect.stringMatching(/^too many files are open.*EMFILE/) as string;
      const line = expect.stringContaining("files are not watched: too many files are open") as string;
      expect(first).toEqual(isOff ? { mode: "off", reason } : on);
      expect(result).toEqual({ lines: isOff ? [line] : [], later: on, seen: true });
    },
  );

  test("20,000 files in 200 folders under `ulimit -n 256` take at most 10 file descriptors", () => {
    const workspace = folderWith();
    for (let folder = 0; folder < 200; folder++) {
      mkdirSync(path.join(workspace, `memory/${folder}`), { recursive: true });
      for (let file = 0; file < 100; file++) writeFileSync(path.join(workspace, `memory/${folder}/${file}.md`), "x");
    }
    const result = inProcess(256, "many", workspace);
    expect(result).toMatchObject({ first: { mode: "folders", folders: 201 }, lines: [], seen: true });
    expect(result.descriptors).toBeLessThanOrEqual(10);
  }, 180_000);

  test("nothing keeps a process alive that has nothing else to do", () => {
    // It would run into the time limit of the test.
    expect(inProcess(256, "idle", folderWith({ "memory/a.md": "a" }))).toEqual({ ended: true });
  });
});

test("a program that was given as text can watch", () => {
  // A thread cannot be started with the options of such a program.
  const entry = JSON.stringify(new URL("watch-roots.ts", import.meta.url).href);
  const code = `import { watchRoots } from ${entry};
    const roots = () => [{ path: process.argv[1], kind: "folder" }];
    const quiet = () => {};
    const watch = watchRoots({ roots, maxFiles: 10, event: quiet, began, notify: quiet });
    const stay = setInterval(quiet, 1000);
    async function began() {
      clearInterval(stay);
      process.stdout.write(watch.state().mode);
      await watch.close();
    }`;
  const options = ["--conditions=@memslot/source", "--input-type=module", "-e", code, folderWith({ "a.md": "a" })];
  const mode = execFileSync(process.execPath, options, { encoding: "utf8", timeout: 60_000 });
  expect(mode).toMatch(/^(?:folders|recursive)$/);
});

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
