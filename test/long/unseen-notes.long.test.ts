import { makeFakeQmd } from "@memslot/fakes/qmd";
import { deterministicEmbeddings } from "@memslot/testkit";
import { expect, onTestFinished, test, vi } from "vitest";
import { stormSize } from "../support/storm-size.ts";
import { compareWithoutPrivateNotes, type Subject } from "../support/unseen-notes.ts";

vi.setConfig({ testTimeout: 30 * 60_000 });

const lancedb = { plugins: { slots: { memory: "memory-lancedb" } } };

async function storm(name: string, corpora: number, subject: Subject): Promise<number> {
  let questions = 0;
  for (let seed = 1000; seed < 1000 + corpora; seed++) questions += await compareWithoutPrivateNotes(seed, subject);
  const counts = `${corpora} corpora, ${questions} questions of a group, 0 answers changed by private notes`;
  process.stdout.write(`${name}: ${counts}\n`);
  return questions;
}

test.each<[string, number, Subject]>([
  ["memory-core", stormSize(100), { settings: {} }],
  ["memory-core by meaning", stormSize(30), { settings: {}, embeddings: deterministicEmbeddings }],
  ["memory-lancedb", stormSize(30), { settings: lancedb }],
  ["memory-lancedb by meaning", stormSize(20), { settings: lancedb, embeddings: deterministicEmbeddings }],
])("%s: %i times with and without private notes", async (name, corpora, subject) => {
  expect(await storm(name, corpora, subject)).toBe(corpora * 10);
});

test("memory-qmd, with a scripted qmd, with and without private notes", async () => {
  const corpora = stormSize(20);
  const fake = makeFakeQmd();
  onTestFinished(() => fake.remove());
  const settings = { memory: { backend: "qmd", qmd: { command: fake.command, fallback: "none" } } };
  expect(await storm("memory-qmd", corpora, { settings })).toBe(corpora * 10);
});
