import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { eventually } from "@memslot/test-tools/wait";
import { deterministicEmbeddings } from "@memslot/testkit";
import type { Memory } from "memslot";
import { expect, onTestFinished, test, vi } from "vitest";
import { askOnce, copyHouse, createHouse, type House, indexFile, useHouse } from "../support/temp-workspace.ts";
import { contentOf } from "../support/sqlite-index-content.ts";
import { noteName, twoPartNote, twoPartNotes } from "../support/generated-notes.ts";
import { expectFoundAfter, saveInACrowd, ways as quietWays } from "../support/same-mtime-saves.ts";
import { seeded, stormSeed, stormSize } from "../support/storm-size.ts";
import data from "../data/saves.json" with { type: "json" };

vi.setConfig({ testTimeout: 30 * 60_000 });

const first = stormSeed() % quietWays.length;
test.each([...quietWays.slice(first), ...quietWays.slice(0, first)].slice(0, stormSize(quietWays.length)))(
  `after $name of the same size and time, the note is found by its new text (${seeded})`,
  async (way) => {
    let reason: string | undefined;
    await expectFoundAfter(way, (why) => (reason = why));
    if (reason !== undefined) process.stdout.write(`not run: ${way.name}, ${reason}\n`);
  },
);

test(`what was saved before the call of a sync is found when it has ended, with many at once (${seeded})`, async () => {
  const memory = await useHouse().open({ memorySearch: { sync: { onSearch: false, watch: false } } });
  const { saved, lost } = await saveInACrowd(memory, { savers: 16, rounds: stormSize(50), seed: stormSeed() });
  process.stdout.write(`${saved} saves of a crowd: ${lost.length} not found after their own sync\n`);
  expect(lost).toEqual([]);
});

/** Saves each message, in one of several ways, and confirms it at once. */
const saves = data.saver.join("\n");
const ways = ["in place", "by rename", "with an old time"];

interface Saved {
  house: House;
  memory: Memory;
  /** Saves a note in another process. */
  save(name: string, text: string, how: string): Promise<void>;
}

/** A memory of many notes below `base`, reached through a link where `isLinked`. */
async function opened(base: string, isLinked: boolean): Promise<Saved> {
  const place = realpathSync.native(mkdtempSync(path.join(base, "memslot-saves-")));
  const house = createHouse(path.join(place, "notes"));
  onTestFinished(async () => {
    await house.end();
    rmSync(place, { recursive: true, force: true, maxRetries: 5 });
  });
  house.write(Object.fromEntries(Array.from({ length: 300 }, (_, note) => [`memory/n${note}.md`, `filler ${note}\n`])));
  const linked = path.join(place, "linked");
  symlinkSync(house.notes, linked);
  const memory = await house.open({ workspace: isLinked ? linked : house.notes });
  await memory.sync();
  const child: ChildProcess = spawn(process.execPath, ["-e", saves], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  onTestFinished(() => void child.kill());
  return {
    house,
    memory,
    async save(name, text, how) {
      const saved = once(child, "message");
      child.send({ file: house.at(name), text, how });
      await saved;
    },
  };
}

/** Whether an answer that is called fresh names a note with the word; undefined where it is not called fresh. */
async function finds(memory: Memory, word: string): Promise<boolean | undefined> {
  const { results, report } = await askOnce(memory, word, { maxResults: 1 });
  return report.state === "ok" ? results[0]?.snippet.includes(word) === true : undefined;
}

const places: [string, string, boolean][] = [
  ["on a disk, in a workspace that is a link", tmpdir(), true],
  ["in memory", "/dev/shm", false],
];

test.each(places.filter(([, base]) => existsSync(base)))(
  "no answer that is called fresh lacks what another process saved right before: %s",
  { timeout: 180_000 },
  async (_, base, isLinked) => {
    const { memory, save } = await opened(base, isLinked);
    let fresh = 0;
    // With one case it goes on until an answer is fresh.
    for (let round = 0; round < stormSize(400) || (fresh === 0 && round < 400); round++) {
      const word = `word${String(round).padStart(6, "0")}`;
      const how = ways[round % ways.length] ?? "in place";
      await save(`memory/n${round % 50}.md`, `the ${word}\n`, how);
      // Events that wait for a busy loop are reported all the same.
      for (const untilMs = performance.now() + (round % 7 === 0 ? 5 : 0); performance.now() < untilMs;);
      const found = await finds(memory, word);
      expect(found, `round ${round}, saved ${how}`).not.toBe(false);
      if (found === true) fresh++;
    }
    expect(fresh).toBeGreaterThan(0);
  },
);

test(
  "a thousand notes that change at once, and a folder of thousands that is moved in, are in the next fresh answer",
  { timeout: 180_000 },
  async () => {
    const { memory, house } = await opened(tmpdir(), false);
    const moved = Math.max(100, stormSize(5000));
    const freshly = async (word: string): Promise<boolean> => {
      let found: boolean | undefined;
      await eventually(async () => (found = await finds(memory, word)) !== undefined, "a fresh answer", 60_000);
      return found === true;
    };
    for (let branch = 0; branch < stormSize(3); branch++) {
      for (let note = 0; note < 1000; note++)
        writeFileSync(house.at(`memory/n${note}.md`), `branch${branch} note${note}x\n`);
      expect(await freshly(`branch${branch}`)).toBe(true);
      const last = house.at("memory/n999.md");
      writeFileSync(last, `later${branch}\n`);
      expect(await freshly(`later${branch}`)).toBe(true);
    }
    const outside = house.at("../outside/deep");
    mkdirSync(outside, { recursive: true });
    for (let note = 0; note < moved; note++) writeFileSync(path.join(outside, `m${note}.md`), `moved${note}x\n`);
    renameSync(path.dirname(outside), house.at("memory/moved"));
    expect(await freshly(`moved${moved - 1}x`)).toBe(true);
    writeFileSync(house.at("memory/moved/deep/m17.md"), "afterwards\n");
    expect(await freshly("afterwards")).toBe(true);
    rmSync(path.join(house.stateDir, "watch"), { recursive: true, force: true });
    writeFileSync(house.at("memory/moved/deep/m18.md"), "withoutwatch\n");
    expect(await freshly("withoutwatch")).toBe(true);
    rmSync(house.stateDir, { recursive: true, force: true });
    writeFileSync(house.at("memory/moved/deep/m19.md"), "withoutstate\n");
    expect(await freshly("withoutstate")).toBe(true);
  },
);

const edits = stormSize(1000);

test(
  `after ${edits} edits of a note the index is less than twice one that is built afresh`,
  { timeout: 180_000 },
  async () => {
    const house = useHouse(twoPartNotes(30));
    const memory = await house.open({
      embeddings: deterministicEmbeddings(),
      memorySearch: { sync: { watch: false } },
    });
    await memory.sync();
    for (let edit = 1; edit <= edits; edit++) {
      house.write({ [noteName(7)]: `${twoPartNote(7, `edit${edit}`)}\n${"more ".repeat(edit % 50)}\n` });
      await memory.sync();
    }
    expect((await memory.search(`edit${edits}`))[0]?.path).toBe(noteName(7));
    expect(await memory.search(`edit${edits - 1}`, { minScore: 0.99 })).toEqual([]);
    await memory.compact();
    await memory.close();

    const fresh = copyHouse(house, { fresh: true });
    try {
      const other = await fresh.open({ embeddings: deterministicEmbeddings() });
      await other.sync();
      await other.close();
      const [size, freshSize] = [indexFile(house), indexFile(fresh)].map((file) => statSync(file).size);
      expect(size).toBeLessThan(2 * (freshSize ?? 0));
      expect(contentOf(indexFile(house)).chunks).toEqual(contentOf(indexFile(fresh)).chunks);
    } finally {
      await fresh.end();
    }
  },
);
