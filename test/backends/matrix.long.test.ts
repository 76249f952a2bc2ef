import { makeFakeQmd, realQmd } from "@memslot/fakes/qmd";
import { type DeterministicEmbeddings, deterministicEmbeddings } from "@memslot/testkit";
import type { Memory } from "memslot";
import { describe, expect, onTestFinished, test } from "vitest";
import { type House, useHouse } from "../support/house.ts";
import { corpus, questions } from "./corpus.ts";

/** What a user writes to have each backend; none may have a spare, which would answer in its place. */
const settings = {
  "memory-core": {},
  "memory-lancedb": { plugins: { slots: { memory: "memory-lancedb" }, entries: {} } },
} as const;

const qmdSettings = (command: string): Record<string, unknown> => ({
  memory: { backend: "qmd", qmd: { command, fallback: "none" } },
});

/** The path of the first result of each question. */
async function firsts(memory: Memory): Promise<(string | undefined)[]> {
  const paths: (string | undefined)[] = [];
  for (const [query] of questions) paths.push((await memory.search(query))[0]?.path);
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

function houseWithCorpus(): House {
  const house = useHouse();
  house.write(corpus);
  return house;
}

function fakeCommand(): string {
  const fake = makeFakeQmd();
  onTestFinished(() => fake.remove());
  return fake.command;
}

describe("60 questions in English, Chinese and code: each backend gives the expected file first", () => {
  test("memory-core", async () => {
    expect(await answers(houseWithCorpus(), settings["memory-core"])).toEqual(expected);
  });

  test("memory-lancedb", async () => {
    expect(await answers(houseWithCorpus(), settings["memory-lancedb"])).toEqual(expected);
  });

  test("memory-qmd, with a scripted qmd", async () => {
    expect(await answers(houseWithCorpus(), qmdSettings(fakeCommand()))).toEqual(expected);
  });

  test("memory-qmd, with qmd itself", { timeout: 600_000 }, async (context) => {
    const qmd = await realQmd();
    if (qmd.command === undefined) return context.skip(qmd.reason);
    expect(await answers(houseWithCorpus(), qmdSettings(qmd.command))).toEqual(expected);
  });

  test.each(["memory-core", "memory-lancedb"] as const)("%s, by meaning and words", async (slot) => {
    expect(await answers(houseWithCorpus(), settings[slot], deterministicEmbeddings())).toEqual(expected);
  });
});

test("the slot goes back and forth: the same answers, and nothing is embedded again", async () => {
  const house = houseWithCorpus();
  const qmd = qmdSettings(fakeCommand());
  const texts = async (given: Readonly<Record<string, unknown>>): Promise<number> => {
    const embeddings = deterministicEmbeddings();
    expect(await answers(house, given, embeddings)).toEqual(expected);
    return embeddings.calls().texts;
  };
  expect(await texts(settings["memory-core"])).toBeGreaterThanOrEqual(Object.keys(corpus).length);
  expect(await texts(settings["memory-lancedb"])).toBe(0);
  house.write({ "memory/2026-05-02.md": "# 2026-05-02\n\nThe sauna stove burns birch wood only.\n" });
  expect(await texts(settings["memory-lancedb"])).toBe(1);
  expect(await texts(settings["memory-core"])).toBe(0);
  expect(await texts(qmd)).toBe(0);
  house.write({ "memory/2026-05-03.md": "# 2026-05-03\n\nThe observatory opens at dusk.\n" });
  expect(await texts(settings["memory-core"])).toBe(1);
  expect(await texts(settings["memory-lancedb"])).toBe(0);
});
