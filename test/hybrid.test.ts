import { benchProviders } from "@memslot/bench/hybrid-providers";
import { readVault } from "@memslot/bench/vault";
import { estimateTokens } from "@memslot/core";
import { readUsage } from "@memslot/indexing";
import { createReferencePlugin } from "@memslot/testkit";
import { type EmbeddingProvider, type Memory, type MemoryPlugin, openMemory, parseConfig } from "memslot";
import { describe, expect, onTestFinished, test } from "vitest";
import { type House, useHouse } from "./support/house.ts";

const vault = readVault();
const questions = vault.questions
  .filter(({ now, evidence }) => now === undefined && evidence.length > 0)
  .filter((_, index) => index % 3 === 0);
const notes = Object.fromEntries([...vault.notes].map(([file, text]) => [`memory/${file}`, text]));
const set = {
  files: new Map(Object.entries(notes)),
  questions: questions.map(({ query, evidence }) => {
    return { text: query, group: "", evidence: evidence.map(({ path }) => ({ path: `memory/${path}` })) };
  }),
};

/** Counts the texts that are embedded beside questions. */
type Counted = EmbeddingProvider & { texts: string[] };

function providerOf(name: string): Counted {
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

async function open(
  { notes: workspace, stateDir }: House,
  embeddings: EmbeddingProvider,
  { slot = "memory-core", ...memorySearch }: { slot?: string | MemoryPlugin } & Record<string, unknown> = {},
): Promise<Memory> {
  const sync = { onSearch: false, watch: false };
  const config = parseConfig(
    {
      agents: { defaults: { workspace, memorySearch: { sync, ...memorySearch } } },
      plugins: { slots: { memory: typeof slot === "string" ? slot : slot.id } },
    },
    { stateDir, env: {} },
  );
  const plugins = typeof slot === "string" ? [] : [slot];
  const memory = await openMemory({ config, agentId: "main", embeddings, plugins, notify: () => undefined });
  onTestFinished(() => memory.close());
  return memory;
}

/** The first result of every question, or of each of so many. */
async function firsts(memory: Memory, every = 1): Promise<string[]> {
  const found: string[] = [];
  for (const { query } of questions.filter((_, index) => index % every === 0)) {
    const [first] = await memory.search(query, { maxResults: 1 });
    found.push(first ? `${first.path}:${first.startLine}` : "nothing");
  }
  return found;
}

function rightOnes(found: readonly string[]): number {
  return found.filter((place, index) =>
    questions[index]?.evidence.some(({ path }) => place.startsWith(`memory/${path}:`)),
  ).length;
}

const wordsOnly = { query: { hybrid: { enabled: false } } };

describe.each([
  ["memory-core", 1, (): string => "memory-core"],
  ["memory-lancedb", 2, (): string => "memory-lancedb"],
  ["a store of anybody's", 2, (): MemoryPlugin => createReferencePlugin()],
] as const)("hybrid search in %s", (_, every, slotOf) => {
  test("with vectors that mean nothing is the search by words, in 99 of 100 questions", async () => {
    const house = useHouse();
    house.write(notes);
    const slot = slotOf();
    const provider = providerOf("noise");
    const hybrid = await open(house, provider, { slot });
    await hybrid.sync();
    const both = await firsts(hybrid, every);
    expect(hybrid.status().embedding?.meaning).toMatchObject({ weight: 0, pairs: 32 });
    await hybrid.close();
    const words = await firsts(await open(house, provider, { slot, ...wordsOnly }), every);
    expect(words.length).toBeGreaterThan(100 / every);
    expect(both.filter((place, index) => place === words[index]).length).toBeGreaterThanOrEqual(0.99 * words.length);
  });
});

test("good vectors put more right notes first than words, weak ones no fewer", async () => {
  const right = new Map<string, number>();
  const words = useHouse();
  words.write(notes);
  const own = await open(words, providerOf("noise"), wordsOnly);
  await own.sync();
  const byWords = rightOnes(await firsts(own));
  for (const name of ["hashed words", "simulated, great"]) {
    const house = useHouse();
    house.write(notes);
    const memory = await open(house, providerOf(name));
    await memory.sync();
    right.set(name, rightOnes(await firsts(memory)));
  }
  expect(right.get("hashed words")).toBeGreaterThanOrEqual(byWords - 0.003 * questions.length);
  expect(right.get("simulated, great")).toBeGreaterThanOrEqual(byWords + 0.04 * questions.length);
});

describe("what meaning is worth", () => {
  test("is measured once, with 64 short texts that are counted, and kept with the index", async () => {
    const house = useHouse();
    house.write(notes);
    const provider = providerOf("simulated, great");
    const memory = await open(house, provider);
    await memory.sync();
    const { chunks = 0, embedding } = memory.status();
    expect(embedding?.meaning?.weight).toBeGreaterThan(0.05);
    // Copies of one chunk are embedded once.
    expect(provider.texts.length - chunks).toBeLessThanOrEqual(64);
    expect(Math.max(...provider.texts.slice(-64).map((text) => text.length))).toBeLessThanOrEqual(400);
    const spent = (await readUsage(house.stateDir)).filter(({ reason }) => reason === "measure");
    expect(spent).toHaveLength(1);
    expect(spent[0]?.tokens).toBeGreaterThan(500);
    await memory.close();

    const before = provider.texts.length;
    const again = await open(house, provider);
    expect(again.status().embedding?.meaning).toEqual(embedding?.meaning);
    house.write({ "memory/new.md": "The new kettle stands in the kitchen.\n" });
    await again.sync();
    expect(provider.texts.slice(before)).toHaveLength(1);
    let weight: number | undefined;
    await again.search("new kettle", { onDebug: (report) => (weight = report.meaning?.weight) });
    expect(weight).toBe(embedding?.meaning?.weight);
  });

  test("is measured again when there are more than twice as many notes", async () => {
    const house = useHouse();
    const some = Object.entries(notes).filter(([, text]) => text.length > 600);
    house.write(Object.fromEntries(some.slice(0, 40)));
    const provider = providerOf("noise");
    const memory = await open(house, provider);
    await memory.sync();
    const measured = async (): Promise<number> =>
      (await readUsage(house.stateDir)).reduce(
        (sum, { reason, requests }) => sum + (reason === "measure" ? requests : 0),
        0,
      );
    expect(await measured()).toBe(1);
    house.write(notes);
    await memory.sync();
    expect(await measured()).toBe(2);
  });

  test("is not asked for where there are too few notes, and where the budget of the day does not reach", async () => {
    const few = useHouse();
    few.write(Object.fromEntries(Object.entries(notes).slice(0, 12)));
    const provider = providerOf("noise");
    const memory = await open(few, provider);
    await memory.sync();
    expect(provider.texts).toHaveLength(memory.status().chunks ?? 0);
    expect(memory.status().embedding?.meaning).toBeUndefined();

    const poor = useHouse();
    poor.write(notes);
    const first = await open(poor, providerOf("noise"));
    await first.sync();
    const usage = await readUsage(poor.stateDir);
    const forNotes = usage.reduce((sum, { reason, tokens }) => sum + (reason === "measure" ? 0 : tokens), 0);
    await first.close();
    const other = useHouse();
    other.write(notes);
    const bounded = await open(other, providerOf("noise"), { budget: { tokensPerDay: forNotes + 100 } });
    expect((await bounded.sync())?.pendingVectors).toBeUndefined();
    expect(bounded.status()).toMatchObject({ vector: { index: { state: "complete" } } });
    expect(bounded.status().embedding?.meaning).toBeUndefined();
    let weight: number | undefined;
    await bounded.search("heat pump", { onDebug: (report) => (weight = report.meaning?.weight) });
    expect(weight).toBe(0.03);
  });
});

test("an estimate counts the texts that measure what meaning is worth, once", async () => {
  const house = useHouse();
  house.write(notes);
  const provider = providerOf("hashed words");
  const memory = await open(house, provider);
  const estimate = await memory.estimate();
  await memory.sync();
  expect(estimate?.measuringTexts).toBe(64);
  expect(provider.texts).toHaveLength((estimate?.pendingTexts ?? 0) + 64);
  expect(estimate?.tokens).toBe(Math.ceil(provider.texts.reduce((sum, text) => sum + estimateTokens(text), 0)));
  const after = await memory.estimate();
  expect(after).toMatchObject({ pendingTexts: 0, tokens: 0, requests: 0 });
  expect(after?.measuringTexts).toBeUndefined();
});
