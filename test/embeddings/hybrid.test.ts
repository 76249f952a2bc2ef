import { estimateTokens } from "@memslot/core";
import { readUsage } from "@memslot/indexing";
import { beforeAll, describe, expect, test } from "vitest";
import { ask, useHouse } from "../support/temp-workspace.ts";
import {
  expectBetter,
  expectUnchangedByNoise,
  type Indexed,
  indexed,
  notes,
  providerOf,
  wordsOnly,
} from "../support/hybrid-search-checks.ts";

const measured = async ({ house }: Indexed): Promise<{ requests: number; tokens: number }[]> =>
  (await readUsage(house.stateDir)).filter(({ reason }) => reason === "measure");

/** `backends/hybrid.long.test.ts` asks all of them. */
const every = 4;

let noise: Indexed;
let words: string[];
let great: Indexed;

beforeAll(async () => {
  noise = await indexed("noise");
  words = await noise.firsts(every, wordsOnly);
  great = await indexed("simulated, great");
}, 120_000);

test("vectors that mean nothing leave the search by words, in 99 of 100 questions", async () => {
  await expectUnchangedByNoise(noise, words, every);
});

test("good vectors put more right notes first than words, weak ones no fewer", async () => {
  const weak = await (await indexed("hashed words")).firsts(every);
  expectBetter({ words, weak, great: await great.firsts(every) }, every);
});

test("an estimate counts the texts that measure the semantic weight, once", async () => {
  const { estimate, provider } = great;
  expect(estimate?.measuringTexts).toBe(64);
  expect(provider.texts).toHaveLength((estimate?.pendingTexts ?? 0) + 64);
  expect(estimate?.tokens).toBe(Math.ceil(provider.texts.reduce((sum, text) => sum + estimateTokens(text), 0)));
  const after = await (await great.open()).estimate();
  expect(after).toMatchObject({ pendingTexts: 0, tokens: 0, requests: 0 });
  expect(after?.measuringTexts).toBeUndefined();
});

describe("the semantic weight", () => {
  test("is measured once, with 64 short texts that are counted, and kept with the index", async () => {
    const { house, provider, status, open } = great;
    const { chunks = 0, embedding } = status;
    expect(embedding?.meaning?.weight).toBeGreaterThan(0.05);
    // Copies of one chunk are embedded once.
    expect(provider.texts.length - chunks).toBeLessThanOrEqual(64);
    expect(Math.max(...provider.texts.slice(-64).map((text) => text.length))).toBeLessThanOrEqual(400);
    const spent = await measured(great);
    expect(spent).toHaveLength(1);
    expect(spent[0]?.tokens).toBeGreaterThan(500);

    const before = provider.texts.length;
    const again = await open();
    expect(again.status().embedding?.meaning).toEqual(embedding?.meaning);
    house.write({ "memory/new.md": "The new kettle stands in the kitchen.\n" });
    await again.sync();
    expect(provider.texts.slice(before)).toHaveLength(1);
    expect((await ask(again, "new kettle")).report.meaning?.weight).toBe(embedding?.meaning?.weight);
  });

  test("is measured again when there are more than twice as many notes", async () => {
    const all = Object.entries(notes).filter(([, text]) => text.length > 600);
    const some = await indexed("noise", Object.fromEntries(all.slice(0, 40)));
    const requests = async (): Promise<number> =>
      (await measured(some)).reduce((sum, entry) => sum + entry.requests, 0);
    expect(await requests()).toBe(1);
    const memory = await some.open();
    some.house.write(notes);
    await memory.sync();
    expect(await requests()).toBe(2);
  });

  test("is not measured where there are too few notes, and where the budget of the day does not reach", async () => {
    const few = await indexed("noise", Object.fromEntries(Object.entries(notes).slice(0, 12)));
    expect(few.provider.texts).toHaveLength(few.status.chunks ?? 0);
    expect(few.status.embedding?.meaning).toBeUndefined();

    const usage = await readUsage(noise.house.stateDir);
    const forNotes = usage.reduce((sum, { reason, tokens }) => sum + (/measure|search/.test(reason) ? 0 : tokens), 0);
    const other = useHouse(notes);
    const bounded = await other.open({
      embeddings: providerOf("noise"),
      memorySearch: { sync: { onSearch: false, watch: false }, budget: { tokensPerDay: forNotes + 100 } },
    });
    expect((await bounded.sync())?.pendingVectors).toBeUndefined();
    expect(bounded.status()).toMatchObject({ vector: { index: { state: "complete" } } });
    expect(bounded.status().embedding?.meaning).toBeUndefined();
    expect((await ask(bounded, "heat pump")).report.meaning?.weight).toBe(0.03);
  });
});
