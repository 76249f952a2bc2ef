import { createHash } from "node:crypto";
import { closeSync, existsSync, openSync, readdirSync, readFileSync, statSync, writeSync } from "node:fs";
import { cp, mkdir, open, readdir, rm, truncate, utimes } from "node:fs/promises";
import path from "node:path";
import { eventually } from "@memslot/test-tools/wait";
import { type Random, randomFrom } from "@memslot/test-tools/random";
import { type DeterministicEmbeddings, deterministicEmbeddings } from "@memslot/testkit";
import type { Memory } from "memslot";
import { askOnce, createHouse, type House, inSlot } from "./temp-workspace.ts";

/** A house of notes, each with one fact that no other note has, and several indexes of them. */
export interface FactHouse extends Omit<House, "open"> {
  embeddings: DeterministicEmbeddings;
  /** Opens the memory of the notes with its state in this folder of the house. */
  open(state: string): Promise<Memory>;
}

export function makeFacts(slot: string, notes: number): FactHouse {
  const house = createHouse();
  house.write(Object.fromEntries(Array.from({ length: notes }, (_, note) => [pathOf(note), textOf(note)])));
  house.letSettle();
  const embeddings = deterministicEmbeddings({ dimensions: 64 });
  const open = (state: string): Promise<Memory> =>
    house.open({
      settings: inSlot(slot),
      stateDir: path.join(house.folder, state),
      memorySearch: { sync: { watch: false } },
      embeddings,
    });
  return { ...house, embeddings, open };
}

const filler = Array.from({ length: 400 }, (_, index) => `word${(index * 7919) % 997}`);

function pathOf(note: number): string {
  return `memory/project-${note}.md`;
}

function nameOf(note: number): string {
  return `zephyr${note}q`;
}

function codeOf(note: number): string {
  return `K${(note * 7919 + 104_729) % 1_000_003}`;
}

function textOf(note: number): string {
  const words = (from: number): string =>
    Array.from({ length: 120 }, (_, index) => filler[(note * 31 + from + index * 3) % filler.length]).join(" ");
  return `# Project ${note}\n\n${words(0)}\n\nThe vault code of ${nameOf(note)} is ${codeOf(note)}.\n\n${words(50)}\n\n${words(90)}\n`;
}

/** What came of a question whose answer is known. */
export type Verdict = "right" | "said" | "wrong";

/** `right`: the answer is there. `said`: it is not, and the report does not say `ok`. `wrong`: it is not, and it says so. */
export async function askFor(memory: Memory, note: number): Promise<Verdict> {
  const { results, report } = await askOnce(memory, `vault code of ${nameOf(note)}`, { minScore: 0 }).catch(() => ({
    results: [],
    report: undefined,
  }));
  const isTrue = results.every((result) => {
    const own = textOf(Number(/\d+/.exec(result.path)?.[0] ?? -1));
    return result.snippet.split("\n").every((line) => line === "…" || own.includes(line.replaceAll(/^…|…$/g, "")));
  });
  const found = results.find((result) => result.path === pathOf(note));
  if (isTrue && found?.snippet.includes(codeOf(note)) === true) return "right";
  return report?.state === "ok" || !isTrue ? "wrong" : "said";
}

/** Asks, brings the index up to date, and asks again. Returns what went wrong. */
async function judge(memory: Memory, notes: readonly number[]): Promise<string[]> {
  const verdicts = async (): Promise<Verdict[]> => {
    const all: Verdict[] = [];
    for (const note of notes) all.push(await askFor(memory, note));
    return all;
  };
  const bad = (await verdicts()).includes("wrong") ? ["wrong and called ok"] : [];
  await memory.sync({ reason: "test" });
  return (await verdicts()).every((verdict) => verdict === "right") ? bad : [...bad, "not right after a sync"];
}

interface StormInput {
  damages: number;
  notes: number;
  seed: number;
}

/** One damage of an index that was copied from a sound one. It may open the memory before or after the damage. */
interface Damage {
  what: string;
  /** The folder of the state that is copied. */
  from: string;
  isOpen: boolean;
  /** Called with the memory that is open, if any. */
  damage(memory: Memory | undefined): Promise<void>;
}

/** Damages a copy of the index, one damage after another, asks questions with known answers, and returns what went wrong. */
async function storm(
  house: FactHouse,
  { damages, notes, random }: StormInput & { random: Random },
  prepare: () => Promise<(index: number) => Damage>,
): Promise<string[]> {
  const lines: string[] = [];
  try {
    const damageOf = await prepare();
    for (let index = 0; index < damages; index++) {
      const { what, from, isOpen, damage } = damageOf(index);
      const asked = Array.from({ length: 4 }, () => random.below(notes));
      await copyState(house, from, "now");
      let memory: Memory | undefined;
      try {
        if (isOpen) memory = await house.open("now");
        await damage(memory);
        memory ??= await house.open("now");
        lines.push(...(await judge(memory, asked)).map((bad) => `${index} ${what}: ${bad}`));
      } catch (error) {
        lines.push(`${index} ${what}: failed: ${String(error)}`);
      } finally {
        await memory?.close().catch(() => undefined);
      }
    }
    return lines;
  } finally {
    await house.end();
  }
}

/** Copies the state of a memory that is closed, or as if its process had been killed. */
export async function copyState(house: FactHouse, from: string, to: string): Promise<void> {
  const target = path.join(house.folder, to);
  await rm(target, { recursive: true, force: true });
  await mkdir(target, { mode: 0o700 });
  await cp(path.join(house.folder, from, "memory"), path.join(target, "memory"), {
    recursive: true,
    preserveTimestamps: true,
    filter: (name) => !/-shm$|\.corrupt-/.test(name),
  });
}

const lanceKinds = ["missing", "emptied", "cut short", "bit flips"] as const;

/** Damages one file after another of an index in LanceDB. */
export async function stormLance(input: StormInput): Promise<string[]> {
  const house = makeFacts("memory-lancedb", input.notes);
  const random = randomFrom(input.seed);
  return await storm(house, { ...input, random }, async () => {
    const first = await house.open("made");
    await first.sync({ reason: "test" });
    await first.close();
    const made = path.join(house.folder, "made");
    const files = await tableFiles(made);
    // With few damages some of every table.
    const step = Math.max(1, Math.floor(files.length / input.damages));
    const start = random.below(files.length);
    return (index) => {
      const file = files[(start + index * step) % files.length] ?? "";
      const kind = lanceKinds[(index + Math.floor(index / files.length)) % lanceKinds.length] ?? "missing";
      const isOpen = index % 2 === 1;
      const name = file.replaceAll(/[0-9a-f-]{20,}/g, (id) => createHash("sha1").update(id).digest("hex").slice(0, 6));
      return {
        what: `${isOpen ? "open" : "closed"}, ${kind}, ${name}`,
        from: "made",
        isOpen,
        async damage() {
          const now = path.join(house.folder, "now");
          const folder = path.join(now, "memory/memory-lancedb");
          const isRecorded = (): boolean =>
            readdirSync(folder).some((each) => existsSync(path.join(folder, each, "files.json")));
          if (isOpen) await eventually(isRecorded, "the process records its files");
          await damageFile(path.join(now, file), kind, random);
        },
      };
    };
  });
}

async function damageFile(file: string, kind: string, random: Random): Promise<void> {
  if (kind === "missing") return await rm(file);
  const { size } = statSync(file);
  if (kind === "emptied") return await truncate(file, 0);
  if (kind === "cut short") return await truncate(file, Math.floor(size / 2));
  const handle = await open(file, "r+");
  try {
    const bytes = await handle.readFile();
    for (let flips = 0; flips < (size > 0 ? 8 : 0); flips++) {
      const at = random.below(size);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
    }
    await handle.write(bytes, 0, bytes.length, 0);
  } finally {
    await handle.close();
  }
}

async function tableFiles(state: string): Promise<string[]> {
  const entries = await readdir(path.join(state, "memory/memory-lancedb"), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.parentPath.includes(".lance"));
  return files.map((entry) => path.join(entry.parentPath, entry.name).slice(state.length + 1)).toSorted();
}

const pageBytes = 32_768;
const pageKinds = ["zeros", "random", "other page", "older page", "bit flips"] as const;
/** When the damage happens: before a process opens the file, or while it has it open; after an end, a kill or a write. */
const moments = ["closed", "killed", "open", "open after a write"] as const;

/** Damages one page after another of an index in SQLite. */
export async function stormSqlite(input: StormInput): Promise<string[]> {
  const house = makeFacts("memory-core", input.notes);
  const random = randomFrom(input.seed);
  const first = random.below(moments.length * pageKinds.length);
  const recorded = (state: string): Promise<void> =>
    eventually(() => existsSync(path.join(house.folder, state, "memory/main.sqlite-sum")), "the file is recorded");
  return await storm(house, { ...input, random }, async () => {
    // The index as a process leaves it that ends, and as one leaves it that is killed.
    const memory = await house.open("made");
    await memory.sync({ reason: "test" });
    await memory.close();
    const older = readFileSync(path.join(house.folder, "made/memory/main.sqlite"));
    const open = await house.open("made");
    await rewriteSome(house);
    await open.sync({ reason: "test" });
    await recorded("made");
    await copyState(house, "made", "killed");
    await open.close();
    return (index) => {
      const moment = moments[(first + index) % moments.length] ?? "closed";
      const kind = pageKinds[Math.floor((first + index) / moments.length) % pageKinds.length] ?? "zeros";
      return {
        what: `${moment}, ${kind}`,
        from: moment === "killed" ? "killed" : "made",
        isOpen: moment.startsWith("open"),
        async damage(opened) {
          if (moment === "open after a write") {
            await rewriteSome(house);
            await opened?.sync({ reason: "test" });
          }
          if (opened) await recorded("now");
          damagePage(path.join(house.folder, "now/memory/main.sqlite"), kind, random, older);
        },
      };
    };
  });
}

/** Touches some notes, so that their records are written. */
async function rewriteSome(house: FactHouse): Promise<void> {
  const past = new Date(Date.now() - 1_800_000 - Math.floor(Math.random() * 100_000));
  for (let note = 0; note < 5; note++) await utimes(house.at(pathOf(note)), past, past);
}

/** Damages one page of the file. `older`: the file as it was before. */
function damagePage(file: string, kind: string, random: Random, older: Buffer): void {
  const bytes = readFileSync(file);
  const count = Math.floor(bytes.length / pageBytes);
  const pageOf = (index: number, from: Buffer = bytes): Buffer =>
    from.subarray(index * pageBytes, (index + 1) * pageBytes);
  let index = random.below(count);
  const others = Array.from({ length: count }, (_, step) => (index + step) % count);
  if (kind === "older page") index = others.find((each) => !pageOf(each, older).equals(pageOf(each))) ?? index;
  const page = Buffer.from(pageOf(index));
  if (kind === "zeros") page.fill(0);
  else if (kind === "random") page.forEach((_, at) => void (page[at] = random.below(256)));
  else if (kind === "other page") pageOf(others[1 + random.below(count - 1)] ?? 0).copy(page);
  else if (kind === "older page") pageOf(index, older).copy(page);
  // The first page has the header, which says whose file it is: that it is damaged is another story.
  const from = index === 0 ? 100 : 0;
  for (let flips = kind === "bit flips" ? 8 : 0; flips > 0; flips--) {
    const at = from + random.below(pageBytes - from);
    page[at] = (page[at] ?? 0) ^ (1 << random.below(8));
  }
  const handle = openSync(file, "r+");
  writeSync(handle, page, from, pageBytes - from, index * pageBytes + from);
  closeSync(handle);
}
