import { mkdir, mkdtemp, realpath, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Memory, type MemoryPlugin, openMemory, parseConfig, type SearchReport } from "@memslot/core";
import { type DeterministicEmbeddings, deterministicEmbeddings } from "@memslot/testkit";

/** A folder of notes, each with one thing that stands nowhere else, and places for the index of them. */
export interface NoteHouse {
  root: string;
  notes: number;
  embeddings: DeterministicEmbeddings;
  /** Opens the memory of the notes with its state in a folder below the root. */
  open(state: string): Promise<Memory>;
  remove(): Promise<void>;
}

const filler = Array.from({ length: 400 }, (_, index) => `word${(index * 7919) % 997}`);

export async function makeNoteHouse(plugin: MemoryPlugin, notes: number): Promise<NoteHouse> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "memslot-damage-")));
  const folder = join(root, "notes", "memory");
  await mkdir(folder, { recursive: true });
  const past = new Date(Date.now() - 3_600_000);
  for (let note = 0; note < notes; note++) {
    const file = join(folder, `project-${note}.md`);
    await writeFile(file, textOf(note));
    await utimes(file, past, past);
  }
  const embeddings = deterministicEmbeddings({ dimensions: 64 });
  return {
    root,
    notes,
    embeddings,
    open: (state) =>
      openMemory({
        config: parseConfig(
          {
            agents: {
              defaults: { workspace: join(root, "notes"), memorySearch: { sync: { watch: false } } },
            },
            plugins: { slots: { memory: plugin.id } },
          },
          { stateDir: join(root, state) },
        ),
        agentId: "main",
        plugins: [plugin],
        embeddings,
        notify: () => undefined,
      }),
    remove: () => rm(root, { recursive: true, force: true, maxRetries: 5 }),
  };
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
  let report: SearchReport | undefined;
  const question = `vault code of ${nameOf(note)}`;
  const results = await memory.search(question, { minScore: 0, onDebug: (given) => (report = given) }).catch(() => []);
  const found = results.find(({ path }) => path === `memory/project-${note}.md`);
  const text = textOf(note);
  const isTrue = results.every(({ path, snippet }) => {
    const own = textOf(Number(/\d+/.exec(path)?.[0] ?? -1));
    return snippet.split("\n").every((line) => line === "…" || own.includes(line.replaceAll(/^…|…$/g, "")));
  });
  const isRight = found?.snippet.includes(codeOf(note)) === true && text.includes(codeOf(note)) && isTrue;
  if (isRight) return "right";
  return report?.state === "ok" || !isTrue ? "wrong" : "said";
}

/** What has come of many damages. */
export interface StormCounts {
  damages: number;
  answers: number;
  right: number;
  /** Not right, and not called `ok`. */
  said: number;
  /** Damages after which an answer was wrong and called `ok`. */
  wrongOk: number;
  /** Damages after which the memory could not be opened, or a sync failed. */
  failed: number;
  /** Damages after which, with one more sync, answers were still not right. */
  unrecovered: number;
}

export function noCounts(): StormCounts {
  return { damages: 0, answers: 0, right: 0, said: 0, wrongOk: 0, failed: 0, unrecovered: 0 };
}

/** Asks, brings the index up to date, and asks again. `note` is the first that is asked for. */
export async function judge(counts: StormCounts, memory: Memory, notes: readonly number[]): Promise<string[]> {
  const first: Verdict[] = [];
  for (const note of notes) first.push(await askFor(memory, note));
  counts.answers += first.length;
  counts.right += first.filter((verdict) => verdict === "right").length;
  counts.said += first.filter((verdict) => verdict === "said").length;
  const bad: string[] = [];
  if (first.includes("wrong")) {
    counts.wrongOk++;
    bad.push("wrong and called ok");
  }
  let later: Verdict[] = [];
  try {
    await memory.sync({ reason: "test" });
    for (const note of notes) later.push(await askFor(memory, note));
  } catch (error) {
    counts.failed++;
    bad.push(`sync failed: ${String(error)}`);
    later = [];
  }
  if (later.length === 0 || later.some((verdict) => verdict !== "right")) {
    counts.unrecovered++;
    bad.push("not right after a sync");
  }
  return bad;
}

/** Numbers that follow from a seed: a storm can be repeated. */
export function createChance(seed: number): { below(limit: number): number } {
  let state = seed >>> 0;
  return {
    below(limit) {
      // Mulberry32.
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * limit);
    },
  };
}
