import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildFileFaults, faultEnvironment, type FaultSettings, linesOf } from "../support/file-faults.ts";
import { copyHouse, createHouse, type House, indexFile } from "../support/temp-workspace.ts";
import { contentOf, type IndexContent, integrityOf, strayFiles } from "../support/sqlite-index-content.ts";
import { noteName, twoPartNote, twoPartNotes } from "../support/generated-notes.ts";
import { embeddedTexts, type RemoteMemory, resultOf } from "../support/start-memory.ts";
import { seeded, stormSeed, stormSize } from "../support/storm-size.ts";

const folder = mkdtempSync(path.join(os.tmpdir(), "memslot-kill-"));
const faults = buildFileFaults(folder);
const library = typeof faults === "string" ? "" : faults.library;
const unless = typeof faults === "string" ? ` (not run: ${faults})` : "";

/** With one case the set-up is what takes the time. */
const fileCount = Math.max(250, stormSize(500));
/** Texts of one request. */
const batchItems = 4;
/** Files that have been read and are not written yet: a batch that is being written, and one that is being filled. */
const filesOnTheWay = 128;

/** The process is killed in each step of its work so many times, spread evenly. */
const steps = { words: 7, vectors: 6, end: 7 };
type Step = keyof typeof steps;
const points = Object.entries(steps).flatMap(([step, count]) =>
  Array.from({ length: count }, (_, index) => ({ step: step as Step, index: index + 1, count })),
);
type Point = (typeof points)[number];
const from = stormSeed() % points.length;
const chosen = [...points.slice(from), ...points.slice(0, from)].slice(0, stormSize(points.length));
const ways = ["kill-before", "kill-half", "kill-after"] as const;

const before = { model: "model-a", batchItems };
const after = { model: "model-b", batchItems, memorySearch: { chunking: { tokens: 50, overlap: 0 } } };
type Settings = typeof before;

/** Notes and their index, made once. */
let indexed: House;
const houses: House[] = [];

afterAll(async () => {
  for (const house of houses) await house.end();
  rmSync(folder, { recursive: true, force: true });
});

function copyOf(house: House, options: { fresh?: boolean; sharesNotes?: boolean } = { sharesNotes: true }): House {
  const copy = copyHouse(house, options);
  houses.push(copy);
  return copy;
}

interface Logged {
  memory: RemoteMemory;
  /** Files that were read, and texts that were embedded, one each time. */
  reads(): number;
  embedded(): string[];
}

/** A process whose reads and embeddings are written down, over all processes of this house. */
function startLogged(house: House, settings: Settings, given: Partial<FaultSettings> = {}): Logged {
  const opens = path.join(house.folder, "opens.log");
  const texts = textsLog(house);
  const below = house.stateDir;
  const env = faultEnvironment(library, { below, opens: { below: house.notes, log: opens }, ...given });
  const memory = house.start({ ...settings, embedLog: texts }, { env });
  return { memory, reads: () => linesOf(opens).length, embedded: () => embeddedTexts(texts) };
}

/** In the state folder, so that what is written there is counted too and shows which step the work has come to. */
function textsLog(house: House): string {
  return path.join(house.stateDir, "texts.log");
}

/** By the end of each step: so many changes have been made in the state folder since the process began. */
async function countChanges(house: House, settings: Settings, force: boolean): Promise<Record<Step, number>> {
  const log = path.join(house.folder, "changes.log");
  const { memory } = startLogged(house, settings, { log });
  resultOf(await memory.open());
  resultOf(await memory.sync({ force }));
  resultOf(await memory.close());
  const changes = linesOf(log);
  const isText = (line: string): boolean => line.endsWith(textsLog(house));
  return { words: changes.findIndex(isText), vectors: changes.findLastIndex(isText), end: changes.length };
}

function changeAt({ step, index, count }: Point, changes: Record<Step, number>): number {
  const from = step === "words" ? 0 : step === "vectors" ? changes.words : changes.vectors;
  return from + Math.ceil(((changes[step] - from) * (index - 0.5)) / count);
}

/** A copy of the house in which a process was killed at this change. */
async function killed(
  house: House,
  settings: Settings,
  { at, force = false, way }: { at: number; force?: boolean; way: number },
): Promise<House> {
  const copy = copyOf(house);
  const { memory } = startLogged(copy, settings, { at, how: ways[way % ways.length] ?? "kill-before" });
  await memory.open();
  await memory.sync({ force });
  await memory.close();
  // How often progress is written depends on the pace: there may be some changes less than in the run that was counted.
  if ((await memory.ended) === 0) return await killed(house, settings, { at: Math.floor(at * 0.97), force, way });
  expect(await memory.ended).toBe("SIGKILL");
  const index = indexFile(copy);
  expect(strayFiles(index)).toEqual([]);
  expect(integrityOf(index)).toEqual(["ok"]);
  return copy;
}

/** The note of this number is the best answer to a question for one of its words. */
async function finds(memory: RemoteMemory, index: number, expected = `word${index}`): Promise<void> {
  const { results, report } = resultOf(await memory.search(`what of ${expected}`));
  expect(results[0]).toMatchObject({
    path: noteName(index),
    snippet: expect.stringContaining(expected) as string,
  });
  expect(["ok", "stale", "degraded"]).toContain(report.state);
}

/** What a space is worth is measured with so many short texts, and again where the process ends before it is written down. */
const measuredTexts = 64;

function timesAgain(texts: readonly string[]): number {
  return texts.length - new Set(texts).size;
}

const edited = 12;

/** The same notes with some edited, added, removed and moved. */
async function edit(house: House): Promise<House> {
  const changed = copyOf(house, { sharesNotes: false });
  // Copies are other files: they are read once.
  await indexOnce(changed, before);
  for (let index = 0; index < edited; index++) {
    changed.write({ [noteName(index)]: twoPartNote(index, `word${index} again`) });
    changed.write({ [`memory/new/folder/note-${1000 + index}.md`]: twoPartNote(1000 + index) });
    changed.remove(noteName(100 + index));
    changed.rename(noteName(200 + index), `memory/moved/note-${200 + index}.md`);
  }
  changed.letSettle();
  return changed;
}

async function indexOnce(house: House, settings: Settings): Promise<void> {
  const memory = house.start(settings);
  resultOf(await memory.open());
  resultOf(await memory.sync());
  resultOf(await memory.close());
}

const works = [
  { what: "a rebuild for another model and other chunks", settings: after, force: true },
  { what: "a sync of some files", settings: before, force: false },
];

describe.skipIf(library === "")(`an index whose process is killed${unless}`, { timeout: 120_000 }, () => {
  beforeAll(async () => {
    indexed = createHouse();
    houses.push(indexed);
    indexed.write(twoPartNotes(fileCount));
    indexed.letSettle();
    await indexOnce(indexed, before);
  }, 120_000);

  describe.each(works)("in $what", ({ settings, force }) => {
    let notes: House;
    let changes: Record<Step, number>;
    let expected: IndexContent;

    beforeAll(async () => {
      notes = force ? indexed : await edit(indexed);
      const fresh = copyOf(notes, { fresh: true, sharesNotes: true });
      await indexOnce(fresh, settings);
      expected = contentOf(indexFile(fresh), settings.model);
      changes = await countChanges(copyOf(notes), settings, force);
    }, 120_000);

    test.concurrent.each(chosen)(
      `at $step $index/$count: answers at once, continues, ends with the same (${seeded})`,
      async (point) => {
        expect(expected.files).toHaveLength(fileCount);
        expect(changes[point.step]).toBeGreaterThan(point.count);
        const house = await killed(notes, settings, { at: changeAt(point, changes), way: point.index, force });

        const { memory, reads, embedded } = startLogged(house, settings);
        resultOf(await memory.open());
        for (const index of [50, 77, fileCount - 23]) await finds(memory, index);
        expect(resultOf(await memory.sync())).toMatchObject({ failed: [] });
        expect(resultOf(await memory.status()).generation).not.toHaveProperty("next");
        // A check compares every note with what was indexed of it.
        const read = reads();
        expect(resultOf(await memory.check())).toMatchObject({ ok: true });
        await finds(memory, fileCount - 2, `piano of number ${fileCount - 2}`);
        const paths = resultOf(await memory.search("word100")).results.map((result) => result.path);
        expect(paths.includes(noteName(100))).toBe(force);
        resultOf(await memory.close());

        expect(contentOf(indexFile(house), settings.model)).toEqual(expected);
        expect(strayFiles(indexFile(house))).toEqual([]);
        expect(timesAgain(embedded())).toBeLessThanOrEqual(batchItems + measuredTexts);
        // A renamed note costs a read and no vector. Each answer is compared with its notes.
        if (!force) expect(new Set(embedded()).size).toBe(2 * edited);
        expect(read).toBeLessThanOrEqual(force ? fileCount + filesOnTheWay : 2 * 3 * edited + 3 * 6);
      },
    );
  });
});
