import { createHash } from "node:crypto";
import { existsSync, readdirSync, statSync } from "node:fs";
import { cp, mkdir, open, readdir, rm, truncate } from "node:fs/promises";
import { join } from "node:path";
import type { Memory } from "@memslot/core";
import memoryLancedb from "@memslot/memory-lancedb";
import { createChance, judge, makeNoteHouse, noCounts, type NoteHouse, type StormCounts } from "./note-house.ts";

const damageKinds = ["missing", "emptied", "cut short", "bit flips"] as const;

/** Damages one file of the index after another, each time of a sound one, and asks questions whose answers are known. */
export async function stormLance(input: { damages: number; notes: number; seed: number }): Promise<{
  counts: StormCounts;
  lines: string[];
  embeddedAgain: number;
  files: number;
}> {
  const house = await makeNoteHouse(memoryLancedb, input.notes);
  const chance = createChance(input.seed);
  const counts = noCounts();
  const lines: string[] = [];
  try {
    const first = await house.open("made");
    await first.sync({ reason: "test" });
    await first.close();
    const before = house.embeddings.calls().texts;
    const files = await tableFiles(join(house.root, "made"));
    // With few damages some of every table.
    const step = Math.max(1, Math.floor(files.length / input.damages));
    for (let index = 0; index < input.damages; index++) {
      const file = files[(index * step) % files.length] ?? "";
      const kind = damageKinds[(index + Math.floor(index / files.length)) % damageKinds.length] ?? "missing";
      const isOpen = index % 2 === 1;
      const bad = await damageOnce(house, { file, kind, isOpen, chance, notes: input.notes, counts });
      const place = file.replaceAll(/[0-9a-f-]{20,}/g, (name) =>
        createHash("sha1").update(name).digest("hex").slice(0, 6),
      );
      for (const line of bad) lines.push(`${index} ${isOpen ? "open" : "closed"}, ${kind}, ${place}: ${line}`);
      counts.damages++;
    }
    return { counts, lines, embeddedAgain: house.embeddings.calls().texts - before, files: files.length };
  } finally {
    await house.remove();
  }
}

async function damageOnce(
  house: NoteHouse,
  input: {
    file: string;
    kind: string;
    isOpen: boolean;
    chance: ReturnType<typeof createChance>;
    notes: number;
    counts: StormCounts;
  },
): Promise<string[]> {
  const { file, kind, isOpen, chance, counts } = input;
  const state = join(house.root, "now");
  await rm(state, { recursive: true, force: true });
  await mkdir(state, { mode: 0o700 });
  await cp(join(house.root, "made", "memory"), join(state, "memory"), { recursive: true, preserveTimestamps: true });
  let memory: Memory | undefined;
  try {
    if (isOpen) {
      memory = await house.open("now");
      await untilRecorded(state);
    }
    await damageFile(join(state, file), kind, chance);
    memory ??= await house.open("now");
    return await judge(counts, memory, [
      chance.below(input.notes),
      chance.below(input.notes),
      chance.below(input.notes),
    ]);
  } catch (error) {
    counts.failed++;
    return [`failed: ${String(error)}`];
  } finally {
    await memory?.close().catch(() => undefined);
  }
}

async function damageFile(path: string, kind: string, chance: ReturnType<typeof createChance>): Promise<void> {
  if (kind === "missing") return await rm(path);
  const { size } = statSync(path);
  if (kind === "emptied") return await truncate(path, 0);
  if (kind === "cut short") return await truncate(path, Math.floor(size / 2));
  const handle = await open(path, "r+");
  try {
    const bytes = await handle.readFile();
    for (let flips = 0; flips < (size > 0 ? 8 : 0); flips++) {
      const at = chance.below(size);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << chance.below(8));
    }
    await handle.write(bytes, 0, bytes.length, 0);
  } finally {
    await handle.close();
  }
}

async function tableFiles(state: string): Promise<string[]> {
  const entries = await readdir(join(state, "memory", "memory-lancedb"), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.parentPath.includes(".lance"));
  return files.map((entry) => join(entry.parentPath, entry.name).slice(state.length + 1)).toSorted();
}

/** Waits until the process has written down what the files are, which it does when it is left alone. */
async function untilRecorded(state: string): Promise<void> {
  const until = Date.now() + 10_000;
  const folder = join(state, "memory", "memory-lancedb");
  const isRecorded = (): boolean => readdirSync(folder).some((name) => existsSync(join(folder, name, "files.json")));
  while (!isRecorded() && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 20));
}
