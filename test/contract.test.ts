import { readFileSync } from "node:fs";
import path from "node:path";
import { CONTRACT, memoryFeatures } from "@memslot/core";
import {
  type TestRunner,
  chunkStoreConformance,
  createInMemoryStore,
  createReferencePlugin,
  deterministicEmbeddings,
  deterministicReranker,
  embeddingConformance,
  memoryConformance,
  rerankConformance,
} from "@memslot/testkit";
import { describe, expect, test } from "vitest";
import { root } from "./support/repository.ts";
import data from "./data/contract-checks.json" with { type: "json" };

const page = readFileSync(path.join(root, "docs/contract.md"), "utf8");
const sentences = [...page.matchAll(/^- (\d+\.\d+) /gmu)].map(([, number]) => number);
/** The checks that prove each sentence. */
const proofs = Object.entries(data).flatMap(([sentence, checks]) => checks.map((check) => ({ sentence, check })));

function namesOf(register: (runner: TestRunner) => void): string[] {
  const names: string[] = [];
  register({ describe: (_name, body) => body(), test: (name) => void names.push(name) });
  return names.filter((name) => !name.startsWith("deviations: "));
}

/** The checks that are made for each verb are one line, with `*` for the verb. */
function withStar(names: readonly string[]): string[] {
  const verbs = "search|readFile|sync|check|compact|probeEmbeddingAvailability|probeVectorAvailability";
  const traits = "aborted before it began|aborted on its way|twice in a row|many at once";
  return [...new Set(names.map((name) => name.replace(new RegExp(`^(?:${verbs}): (?=${traits})`, "u"), "*: ")))];
}

describe("docs/contract.md", () => {
  test("has a sentence for every check of the kit, and names no check that is not there", () => {
    const checks = [
      ...withStar(namesOf((runner) => memoryConformance(runner, { plugin: createReferencePlugin() }))),
      ...namesOf((runner) => chunkStoreConformance(runner, { open: async () => createInMemoryStore(), reopens: true })),
      ...namesOf((runner) => embeddingConformance(runner, { open: async () => deterministicEmbeddings() })),
      ...namesOf((runner) => rerankConformance(runner, { open: async () => deterministicReranker() })),
    ];
    expect(proofs.map(({ check }) => check).toSorted()).toEqual(checks.toSorted());
    for (const { sentence } of proofs) expect(sentences).toContain(sentence);
  });

  test("numbers its sentences one after the other", () => {
    expect(new Set(sentences).size).toBe(sentences.length);
    const bySection = Map.groupBy(sentences, (number) => number?.split(".")[0]);
    for (const [section, own] of bySection) expect(own).toEqual(own.map((_, index) => `${section}.${index + 1}`));
  });

  test("names every feature with the words that the command uses, and the contract number", () => {
    for (const [name, words] of Object.entries(memoryFeatures))
      expect(page).toMatch(
        new RegExp(`^\\| \`${name}\` +\\| ${words.replaceAll(/[()?.]/gu, String.raw`\$&`)} +\\|$`, "mu"),
      );
    expect(page).toContain(`\`CONTRACT\` in \`@memslot/core\`; it is ${CONTRACT}.`);
  });
});
