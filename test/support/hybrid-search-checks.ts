import { benchProviders } from "@memslot/bench/hybrid-providers";
import { readVault, type VaultQuestion } from "@memslot/bench/vault";
import { createReferencePlugin } from "@memslot/testkit";
import type { EmbeddingProvider, Memory } from "memslot";
import { expect } from "vitest";
import { type House, inSlot, useHouse } from "./temp-workspace.ts";

const vault = readVault();
/** A third of the questions that have an answer whatever the day is. */
const questions: readonly VaultQuestion[] = vault.questions
  .filter(({ now, evidence }) => now === undefined && evidence.length > 0)
  .filter((_, index) => index % 3 === 0);
export const notes: Readonly<Record<string, string>> = Object.fromEntries(
  [...vault.notes].map(([file, text]) => [`memory/${file}`, text]),
);
const set = {
  files: new Map(Object.entries(notes)),
  questions: questions.map(({ query, evidence }) => {
    return { text: query, group: "", evidence: evidence.map(({ path }) => ({ path: `memory/${path}` })) };
  }),
};

/** Counts the texts that are embedded beside questions. */
type Counted = EmbeddingProvider & { texts: string[] };

export function providerOf(name: string): Counted {
  const provider = benchProviders(undefined).get(name)?.(set);
  if (provider === undefined) throw new Error(`no provider is named ${name}`);
  const texts: string[] = [];
  return {
    ...provider,
    texts,
    embedBatch: async (given) => {
      texts.push(...given);
      return await provider.embedBatch(given);
    },
  };
}

export interface Indexed {
  house: House;
  provider: Counted;
  /** Before the first sync. */
  estimate: Awaited<ReturnType<Memory["estimate"]>>;
  status: ReturnType<Memory["status"]>;
  /** The memory, open again. */
  open(memorySearch?: Record<string, unknown>): Promise<Memory>;
  /** The first result of each of so many questions. */
  firsts(every: number, memorySearch?: Record<string, unknown>): Promise<string[]>;
}

export async function indexed(
  name: string,
  files: Readonly<Record<string, string>> = notes,
  slot = "memory-core",
): Promise<Indexed> {
  const house = useHouse(files);
  const provider = providerOf(name);
  const open = (memorySearch = {}): Promise<Memory> =>
    house.open({
      settings: inSlot(slot),
      plugins: slot === "reference" ? [createReferencePlugin()] : [],
      embeddings: provider,
      memorySearch: { sync: { onSearch: false, watch: false }, ...memorySearch },
    });
  const memory = await open();
  const estimate = await memory.estimate();
  await memory.sync();
  const status = memory.status();
  await memory.close();
  const firsts = async (every: number, memorySearch = {}): Promise<string[]> => {
    const reopened = await open(memorySearch);
    const found: string[] = [];
    for (const { query } of questions.filter((_, index) => index % every === 0)) {
      const [first] = await reopened.search(query, { maxResults: 1 });
      found.push(first ? `${first.path}:${first.startLine}` : "nothing");
    }
    await reopened.close();
    return found;
  };
  return { house, provider, estimate, status, open, firsts };
}

function rightOnes(found: readonly string[], every: number): number {
  const isRight = (place: string, index: number): boolean =>
    questions[index * every]?.evidence.some(({ path }) => place.startsWith(`memory/${path}:`)) ?? false;
  return found.filter(isRight).length;
}

export const wordsOnly = { query: { hybrid: { enabled: false } } };

/** Vectors that mean nothing change no more than one answer of a hundred. */
export async function expectUnchangedByNoise(noise: Indexed, words: readonly string[], every: number): Promise<void> {
  expect(noise.status.embedding?.meaning).toMatchObject({ weight: 0, pairs: 32 });
  const both = await noise.firsts(every);
  expect(words.length).toBeGreaterThan(100 / every);
  expect(both.filter((place, index) => place === words[index]).length).toBeGreaterThanOrEqual(0.99 * words.length);
}

/** Good vectors put more right notes first than words, weak ones no fewer. */
export function expectBetter(of: { words: string[]; weak: string[]; great: string[] }, every: number): void {
  const byWords = rightOnes(of.words, every);
  const asked = questions.length / every;
  expect(rightOnes(of.weak, every)).toBeGreaterThanOrEqual(byWords - 0.003 * asked);
  // Where words miss little, a third of what they miss.
  const more = Math.min(0.04 * asked, (asked - byWords) / 3);
  expect(rightOnes(of.great, every)).toBeGreaterThanOrEqual(byWords + more);
}
