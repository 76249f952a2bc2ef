import { randomBytes } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { copyFile, mkdir, open, readdir, rm, utimes } from "node:fs/promises";
import { join } from "node:path";
import memoryCore from "@memslot/memory-core";
import type { Memory } from "@memslot/core";
import { createChance, judge, makeNoteHouse, noCounts, type NoteHouse, type StormCounts } from "./note-house.ts";

const pageBytes = 32_768;
const frameHeaderBytes = 24;
const logHeaderBytes = 32;

const damageKinds = ["zeros", "random", "other page", "bit flips"] as const;
/** When the damage happens: before a process opens the file, or while it has it open; with a log beside it or without. */
const moments = ["closed", "left with a log", "open", "open with a log"] as const;
type Moment = (typeof moments)[number];

/** Damages one page of the index after another, each time of a sound one, and asks questions whose answers are known. */
export async function stormSqlite(input: { damages: number; notes: number; seed: number }): Promise<{
  counts: StormCounts;
  lines: string[];
  embeddedAgain: number;
}> {
  const house = await makeNoteHouse(memoryCore, input.notes);
  const chance = createChance(input.seed);
  const counts = noCounts();
  const lines: string[] = [];
  try {
    await prepare(house);
    const before = house.embeddings.calls().texts;
    for (let index = 0; index < input.damages; index++) {
      const moment = moments[index % moments.length] ?? "closed";
      const kind = damageKinds[Math.floor(index / moments.length) % damageKinds.length] ?? "zeros";
      const asked = Array.from({ length: 4 }, () => chance.below(input.notes));
      const bad = await damageOnce(house, { moment, kind, asked, chance, counts });
      for (const line of bad) lines.push(`${index} ${moment}, ${kind}: ${line}`);
      counts.damages++;
    }
    return { counts, lines, embeddedAgain: house.embeddings.calls().texts - before };
  } finally {
    await house.remove();
  }
}

/** The index as a process leaves it that ends, and as one leaves it that is killed. */
async function prepare(house: NoteHouse): Promise<void> {
  const memory = await house.open("made");
  await memory.sync({ reason: "test" });
  await memory.close();
  await copyState(house, "made", "closed");
  const open = await house.open("made");
  await rewriteSome(house);
  await open.sync({ reason: "test" });
  await untilRecorded(house, "made");
  await copyState(house, "made", "killed");
  await open.close();
  await copyState(house, "made", "closed");
}

/** Touches some notes, so that their records are written and a log is there. */
async function rewriteSome(house: NoteHouse): Promise<void> {
  const past = new Date(Date.now() - 1_800_000 - Math.floor(Math.random() * 100_000));
  for (let note = 0; note < 5; note++)
    await utimes(join(house.root, "notes", "memory", `project-${note}.md`), past, past);
}

async function copyState(house: NoteHouse, from: string, to: string): Promise<void> {
  const source = join(house.root, from, "memory");
  const target = join(house.root, to, "memory");
  await rm(target, { recursive: true, force: true });
  await mkdir(target, { recursive: true, mode: 0o700 });
  for (const name of await readdir(source))
    if (name.startsWith("main.sqlite") && !name.endsWith("-shm") && !name.includes(".corrupt-"))
      await copyFile(join(source, name), join(target, name));
}

async function damageOnce(
  house: NoteHouse,
  input: {
    moment: Moment;
    kind: string;
    asked: readonly number[];
    chance: ReturnType<typeof createChance>;
    counts: StormCounts;
  },
): Promise<string[]> {
  const { moment, kind, asked, chance, counts } = input;
  await rm(join(house.root, "now"), { recursive: true, force: true });
  await copyState(house, moment === "left with a log" ? "killed" : "closed", "now");
  const file = join(house.root, "now", "memory", "main.sqlite");
  const isOpen = moment.startsWith("open");
  let memory: Memory | undefined;
  try {
    if (isOpen) {
      memory = await house.open("now");
      if (moment === "open with a log") {
        await rewriteSome(house);
        await memory.sync({ reason: "test" });
      }
      await untilRecorded(house, "now");
    }
    await damagePage(file, kind, chance);
    memory ??= await house.open("now");
    return await judge(counts, memory, asked);
  } catch (error) {
    counts.failed++;
    return [`failed: ${String(error)}`];
  } finally {
    await memory?.close().catch(() => undefined);
  }
}

/** Damages one page of the file, or where there is a log one of that as often as it is a part of both. */
async function damagePage(file: string, kind: string, chance: ReturnType<typeof createChance>): Promise<void> {
  const log = `${file}-wal`;
  const pages = Math.floor(statSync(file).size / pageBytes);
  const frames = existsSync(log)
    ? Math.max(0, Math.floor((statSync(log).size - logHeaderBytes) / (pageBytes + frameHeaderBytes)))
    : 0;
  const isInLog = frames > 0 && chance.below(2) === 0;
  const position = (index: number): number =>
    isInLog ? logHeaderBytes + index * (pageBytes + frameHeaderBytes) + frameHeaderBytes : index * pageBytes;
  const count = isInLog ? frames : pages;
  const index = chance.below(count);
  const handle = await open(isInLog ? log : file, "r+");
  try {
    const page = Buffer.alloc(pageBytes);
    // The first page has the header, which says whose file it is: that it is damaged is another story.
    const from = !isInLog && index === 0 ? 100 : 0;
    if (kind === "other page") {
      await handle.read(page, 0, pageBytes, position((index + 1 + chance.below(Math.max(1, count - 1))) % count));
    } else if (kind === "random") {
      randomBytes(pageBytes).copy(page);
    } else if (kind === "bit flips") {
      await handle.read(page, 0, pageBytes, position(index));
      for (let flips = 0; flips < 8; flips++) {
        const at = from + chance.below(pageBytes - from);
        page[at] = (page[at] ?? 0) ^ (1 << chance.below(8));
      }
    }
    await handle.write(page, from, pageBytes - from, position(index) + from);
  } finally {
    await handle.close();
  }
}

/** Waits until the process has written down what the file is, which it does when it is left alone. */
async function untilRecorded(house: NoteHouse, state: string): Promise<void> {
  const sum = join(house.root, state, "memory", "main.sqlite-sum");
  const until = Date.now() + 10_000;
  while (!existsSync(sum) && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 20));
}
