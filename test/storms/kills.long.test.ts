import { existsSync, readFileSync } from "node:fs";
import { startChild } from "@memslot/test-tools/child";
import { tempFolder } from "@memslot/test-tools/files";
import { type Random, randomFrom } from "@memslot/test-tools/random";
import { expect, test, vi } from "vitest";
import { buildFileFaults, faultEnvironment } from "../support/file-faults.ts";
import { type House, indexFile, useHouse } from "../support/house.ts";
import { contentOf, integrityOf } from "../support/index-file.ts";
import { noteName, twoPartNote, twoPartNotes } from "../support/notes.ts";
import { resultOf } from "../support/start-memory.ts";
import { seeded, stormSeed, stormSize } from "../support/storm-size.ts";

const programs = new URL("../support/programs.ts", import.meta.url);
const settings = { model: "model-a", batchItems: 4 };
const ways = ["kill-before", "kill-half", "kill-after"] as const;
const works = ["sync", "rebuild", "append"] as const;
const written = "memory/2026-01-05.md";

/** What a storm has met. */
interface StormCounts {
  killed: Record<(typeof works)[number], number>;
  /** Runs that had ended before their kill came. */
  ended: number;
  /** Notes that were said to be written, all of which stand in the file. */
  notes: number;
}

/**
 * Kills a process in the middle of its work on one house, again and again: while it brings the index up to date after
 * some edits, makes it anew, or appends notes. After each kill the index is sound, every file is in it whole or not, what
 * was said to be written stands in its file, and the next process answers truly.
 */
async function killStorm(
  house: House,
  { library, files, kills, seed }: { library: string; files: number; kills: number; seed: number },
): Promise<StormCounts> {
  const random = randomFrom(seed);
  const counts: StormCounts = { killed: { sync: 0, rebuild: 0, append: 0 }, ended: 0, notes: 0 };
  const told: string[] = [];
  for (let round = 0; counts.killed.sync + counts.killed.rebuild + counts.killed.append < kills; round++) {
    const work = works[round % works.length] ?? "sync";
    const how = random.pick(ways);
    if (work === "append") {
      const env = faultEnvironment(library, { below: house.notes, at: 1 + random.below(12), how });
      const said = await appended(house.notes, `r${round}`, env);
      told.push(...said.words);
      count(counts, work, said.killed);
    } else {
      if (work === "sync") edit(house, random, files, round);
      const env = faultEnvironment(library, { below: house.stateDir, at: 1 + random.below(200), how });
      const memory = house.start(settings, { env });
      await memory.open();
      await memory.sync({ force: work === "rebuild" });
      await memory.close();
      count(counts, work, (await memory.ended) === "SIGKILL");
    }
    assertWhole(house);
    const note = existsSync(house.at(written)) ? readFileSync(house.at(written), "utf8") : "";
    // Each stands there once, with its beginning and its end.
    for (const word of told) expect(note.split(`end of ${word}.`)).toHaveLength(2);
    await assertTrue(house, random.below(files), told.at(-1));
  }
  counts.notes = told.length;
  return counts;
}

function count(counts: StormCounts, work: (typeof works)[number], wasKilled: boolean): void {
  if (wasKilled) counts.killed[work]++;
  else counts.ended++;
}

function edit(house: House, random: Random, files: number, round: number): void {
  for (let number = 0; number < 3; number++) {
    const index = random.below(files);
    house.write({ [noteName(index)]: twoPartNote(index, `word${index} edited${round}`) });
  }
}

async function appended(
  notes: string,
  name: string,
  env: NodeJS.ProcessEnv,
): Promise<{ words: string[]; killed: boolean }> {
  const child = startChild(programs, ["write-notes", notes, name, "6"], { env });
  const killed = (await child.ended) === "SIGKILL";
  return { words: child.output().match(/^\w+n\d+$/gmu) ?? [], killed };
}

/** The index is sound, and each file in it has as many chunks as its record says, with the words of all. */
function assertWhole(house: House): void {
  const index = indexFile(house);
  expect(integrityOf(index)).toEqual(["ok"]);
  const { files, chunks, words } = contentOf(index, settings.model);
  const perFile = new Map<string, number>();
  for (const chunk of chunks) perFile.set(chunk.path, (perFile.get(chunk.path) ?? 0) + 1);
  for (const file of files) expect([file.path, perFile.get(file.path) ?? 0]).toEqual([file.path, file.chunks]);
  expect(words).toBe(chunks.length);
}

/** The next process finds what the notes hold now, and an answer that it calls ok holds all of it. */
async function assertTrue(house: House, index: number, told: string | undefined): Promise<void> {
  const memory = house.start(settings);
  resultOf(await memory.open());
  const early = resultOf(await memory.search(`word${index}`));
  if (early.report.state === "ok") expect(early.results[0]?.path).toBe(noteName(index));
  expect(resultOf(await memory.sync())).toMatchObject({ failed: [] });
  const { results, report } = resultOf(await memory.search(`word${index}`));
  expect([report.state, results[0]?.path]).toEqual(["ok", noteName(index)]);
  const standing = readFileSync(house.at(noteName(index)), "utf8");
  expect(standing).toContain(/kitten knows .*?\./.exec(results[0]?.snippet ?? "")?.[0] ?? "?");
  if (told !== undefined) {
    const found = resultOf(await memory.search(told));
    expect(found.results.map((result) => result.path)).toContain(written);
  }
  resultOf(await memory.close());
}

vi.setConfig({ testTimeout: 30 * 60_000 });

/** As many of each kind: in a sync, in a rebuild, in an append. */
const kills = 3 * stormSize(167);
const files = 60;
const faults = buildFileFaults(tempFolder());

test.skipIf(typeof faults === "string")(`${kills} kills lose nothing (${seeded})`, async () => {
  if (typeof faults === "string") return;
  const house = useHouse();
  house.write(twoPartNotes(files));
  const memory = house.start({ model: "model-a", batchItems: 4 });
  resultOf(await memory.open());
  resultOf(await memory.sync());
  resultOf(await memory.close());
  const { killed, ended, notes } = await killStorm(house, { library: faults.library, files, kills, seed: stormSeed() });
  process.stdout.write(
    `${kills} kills: ${killed.sync} in a sync, ${killed.rebuild} in a rebuild, ${killed.append} in an append; ` +
      `${ended} runs ended before theirs; ${notes} notes written, 0 lost\n`,
  );
  expect(killed.sync + killed.rebuild + killed.append).toBe(kills);
});
