import { readFileSync } from "node:fs";
import path from "node:path";
import { type FakeQmd, makeFakeQmd, realQmd } from "@memslot/fakes/qmd";
import { afterwards } from "@memslot/test-tools/files";
import { type DeterministicEmbeddings, deterministicEmbeddings } from "@memslot/testkit";
import type { Memory } from "memslot";
import { describe, expect, test } from "vitest";
import { ask, type House, inSlot, useHouse, withQmd } from "../support/temp-workspace.ts";

/** Notes of a household and a small company, and questions, each with the one note that answers it. */
const { corpus, questions } = JSON.parse(
  readFileSync(path.join(import.meta.dirname, "../data/corpus.json"), "utf8"),
) as { corpus: Record<string, string>; questions: [query: string, path: string][] };

/** The path of the first result of each question. */
async function firsts(memory: Memory): Promise<(string | undefined)[]> {
  const paths: (string | undefined)[] = [];
  for (const [query] of questions) paths.push((await ask(memory, query)).paths[0]);
  return paths;
}

async function answers(
  house: House,
  given: Readonly<Record<string, unknown>>,
  embeddings?: DeterministicEmbeddings,
): Promise<(string | undefined)[]> {
  const memory = await house.open({ settings: given, embeddings, memorySearch: { sync: { watch: false } } });
  await memory.sync();
  const paths = await firsts(memory);
  expect(memory.status().fallback).toBeUndefined();
  await memory.close();
  return paths;
}

const expected = questions.map(([, path]) => path);

function fakeQmd(): FakeQmd {
  const fake = makeFakeQmd();
  afterwards(() => fake.remove());
  return fake;
}

describe("60 questions in English, Chinese and code: each backend gives the expected file first", () => {
  test("memory-core", async () => {
    expect(await answers(useHouse(corpus), inSlot("memory-core"))).toEqual(expected);
  });

  test("memory-lancedb", async () => {
    expect(await answers(useHouse(corpus), inSlot("memory-lancedb"))).toEqual(expected);
  });

  test("memory-qmd, with a scripted qmd", async () => {
    expect(await answers(useHouse(corpus), withQmd(fakeQmd()))).toEqual(expected);
  });

  test("memory-qmd, with qmd itself", { timeout: 600_000 }, async (context) => {
    const qmd = await realQmd();
    if (qmd.command === undefined) return context.skip(qmd.reason);
    expect(await answers(useHouse(corpus), withQmd({ command: qmd.command }))).toEqual(expected);
  });

  test.each(["memory-core", "memory-lancedb"] as const)("%s, by meaning and words", async (slot) => {
    expect(await answers(useHouse(corpus), inSlot(slot), deterministicEmbeddings())).toEqual(expected);
  });
});

test("the slot goes back and forth: the same answers, and nothing is embedded again", async () => {
  const house = useHouse(corpus);
  const qmd = withQmd(fakeQmd());
  const texts = async (given: Readonly<Record<string, unknown>>): Promise<number> => {
    const embeddings = deterministicEmbeddings();
    expect(await answers(house, given, embeddings)).toEqual(expected);
    return embeddings.calls().texts;
  };
  expect(await texts(inSlot("memory-core"))).toBeGreaterThanOrEqual(Object.keys(corpus).length);
  expect(await texts(inSlot("memory-lancedb"))).toBe(0);
  house.write({ "memory/2026-05-02.md": "# 2026-05-02\n\nThe sauna stove burns birch wood only.\n" });
  expect(await texts(inSlot("memory-lancedb"))).toBe(1);
  expect(await texts(inSlot("memory-core"))).toBe(0);
  expect(await texts(qmd)).toBe(0);
  house.write({ "memory/2026-05-03.md": "# 2026-05-03\n\nThe observatory opens at dusk.\n" });
  expect(await texts(inSlot("memory-core"))).toBe(1);
  expect(await texts(inSlot("memory-lancedb"))).toBe(0);
});
