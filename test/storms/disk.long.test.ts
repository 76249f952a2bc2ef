import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { randomFrom } from "@memslot/test-tools/random";
import { tempFolder } from "@memslot/test-tools/files";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { buildFileFaults, type FaultSettings, faultEnvironment, linesOf, needsSpace } from "../support/file-faults.ts";
import { copyHouse, createHouse, type House, indexFile } from "../support/temp-workspace.ts";
import { contentOf, type IndexContent, integrityOf, strayFiles } from "../support/sqlite-index-content.ts";
import { noteName, twoPartNote, twoPartNotes } from "../support/generated-notes.ts";
import { embeddedTexts, type RemoteMemory, resultOf } from "../support/start-memory.ts";
import { seeded, stormSeed, stormSize } from "../support/storm-size.ts";

const faults = buildFileFaults(tempFolder());
const library = typeof faults === "string" ? "" : faults.library;
const unless = typeof faults === "string" ? ` (not run: ${faults})` : "";

const fileCount = 150;
const before = { model: "model-a", batchItems: 8 };
const after = { ...before, model: "model-b", memorySearch: { chunking: { tokens: 50, overlap: 0 } } };

/** What is done while the disk is bad. */
const runs = [
  { what: "a sync", settings: before, force: false },
  { what: "a rebuild", settings: after, force: true },
];
type Run = (typeof runs)[number];

/** What the disk does, and how that is reported. */
const disks = [
  { disk: "a full disk", how: "ENOSPC", on: needsSpace, words: /full|no space/iu },
  { disk: "a disk that cannot be written", how: "EIO", on: ["write", "sync", "truncate"], words: /I\/O|disk/iu },
] as const satisfies ({ disk: string; words: RegExp } & Partial<FaultSettings>)[];
type Disk = (typeof disks)[number];

/** How far into the run the disk becomes bad. */
const random = randomFrom(stormSeed());
const points = Array.from({ length: stormSize(3) }, (_, index) => (index + random.below(100) / 100) / stormSize(3));

/** Notes with an index, to which some changes were made since. */
let changed: House;

beforeAll(async () => {
  changed = createHouse();
  changed.write(twoPartNotes(fileCount));
  changed.letSettle();
  const memory = changed.start(before);
  resultOf(await memory.open());
  resultOf(await memory.sync());
  resultOf(await memory.close());
  for (let index = 0; index < 20; index++) {
    changed.write({ [noteName(index)]: twoPartNote(index, `again${index}`) });
    changed.remove(noteName(100 + index));
  }
  changed.letSettle();
}, 120_000);

afterAll(() => changed.end());

function useCopy(options?: { fresh: boolean }): House {
  const copy = copyHouse(changed, options);
  onTestFinished(() => copy.end());
  return copy;
}

/** A process whose disk is bad while a file is there. */
function start(house: House, { settings }: Run, given: Partial<FaultSettings>): { memory: RemoteMemory; bad: string } {
  const bad = path.join(house.folder, "bad");
  const env = faultEnvironment(library, { below: house.indexFolder, while: bad, ...given });
  return { memory: house.start(settings, { env }), bad };
}

/** Calls of this kind that the whole run makes. */
async function countCalls(run: Run, { on }: Disk): Promise<number> {
  const house = useCopy();
  const log = path.join(house.folder, "calls.log");
  const { memory, bad } = start(house, run, { on, log });
  resultOf(await memory.open());
  writeFileSync(bad, "");
  resultOf(await memory.sync({ force: run.force }));
  const { length } = linesOf(log);
  await memory.close();
  return length;
}

async function freshContent({ settings }: Run): Promise<IndexContent> {
  const house = useCopy({ fresh: true });
  const memory = house.start(settings);
  resultOf(await memory.open());
  resultOf(await memory.sync());
  resultOf(await memory.close());
  return contentOf(indexFile(house));
}

describe.skipIf(library === "")(`the index${unless}`, { timeout: 120_000 }, () => {
  describe.each(runs)("on a disk that goes bad in $what", (run) => {
    test.each(disks)(
      `$disk: reports the file by name, keeps what it has, and goes on afterwards (${seeded})`,
      async (disk) => {
        const expected = await freshContent(run);
        const calls = await countCalls(run, disk);
        expect(calls).toBeGreaterThan(points.length);
        for (const point of points) {
          const house = useCopy();
          // The last calls come when the sync has ended.
          const at = Math.floor(calls * 0.85 * point) + 1;
          const { memory, bad } = start(house, run, {
            on: disk.on,
            how: disk.how,
            at,
            times: Number.POSITIVE_INFINITY,
          });
          resultOf(await memory.open());
          writeFileSync(bad, "");
          const ending = await memory.sync({ force: run.force });
          expect(ending.error).toMatchObject({
            code: "UNAVAILABLE",
            message: expect.stringMatching(disk.words) as string,
          });
          expect(ending.error?.message).toContain("main.sqlite");
          // Answers from what there is, or says why it cannot.
          const answer = await memory.search("word77");
          if (answer.error) expect(answer.error.message).toContain("main.sqlite");
          else expect(resultOf(answer).results[0]).toMatchObject({ path: noteName(77) });

          rmSync(bad);
          expect(resultOf(await memory.sync({ force: run.force }))).toMatchObject({ failed: [] });
          expect(resultOf(await memory.search("again7")).results[0]).toMatchObject({ path: noteName(7) });
          expect(resultOf(await memory.check())).toMatchObject({ ok: true });
          resultOf(await memory.close());
          const index = indexFile(house);
          expect(integrityOf(index)).toEqual(["ok"]);
          expect(contentOf(indexFile(house), run.settings.model)).toEqual(expected);
          expect(strayFiles(index)).toEqual([]);
          await house.end();
        }
      },
    );
  });

  test("that does not fit on its disk at the first sync is kept in memory, and leaves nothing behind", async () => {
    const house = useCopy({ fresh: true });
    const settings = { ...before, memorySearch: { provider: "none" } };
    const faulty = start(
      house,
      { what: "", settings, force: false },
      { on: needsSpace, how: "ENOSPC", at: 20, times: Number.POSITIVE_INFINITY },
    );
    resultOf(await faulty.memory.open());
    writeFileSync(faulty.bad, "");
    expect(resultOf(await faulty.memory.sync())).toMatchObject({ failed: [] });
    expect(faulty.memory.notices).toEqual([expect.stringMatching(/main\.sqlite does not fit on its disk/u)]);
    expect(resultOf(await faulty.memory.search("again7")).results[0]).toMatchObject({ path: noteName(7) });
    resultOf(await faulty.memory.close());
    expect(readdirSync(house.indexFolder)).toEqual([]);
  });

  test("on a disk that cannot be read: answers from one in memory, says so, and is used again when it can be read", async () => {
    const house = useCopy();
    const texts = path.join(house.folder, "texts.log");
    const settings = { ...before, embedLog: texts };
    const content = contentOf(indexFile(house));
    const faulty = start(
      house,
      { what: "", settings, force: false },
      { on: ["read"], how: "EIO", at: 1, times: Number.POSITIVE_INFINITY },
    );
    writeFileSync(faulty.bad, "");
    resultOf(await faulty.memory.open());
    expect(faulty.memory.notices).toEqual([expect.stringContaining("main.sqlite")]);
    expect(faulty.memory.notices[0]).toMatch(/I\/O/iu);
    expect(resultOf(await faulty.memory.search("again7")).results[0]).toMatchObject({ path: noteName(7) });
    resultOf(await faulty.memory.close());
    expect(contentOf(indexFile(house))).toEqual(content);
    expect(strayFiles(indexFile(house))).toEqual([]);

    rmSync(faulty.bad);
    // With an index in memory no note is sent to a provider.
    expect(existsSync(texts)).toBe(false);
    const memory = house.start(settings);
    resultOf(await memory.open());
    expect(resultOf(await memory.sync())).toMatchObject({ changed: 20, removed: 20, failed: [] });
    resultOf(await memory.close());
    expect(memory.notices).toEqual([]);
    expect(embeddedTexts(texts)).toHaveLength(20);
  });
});
