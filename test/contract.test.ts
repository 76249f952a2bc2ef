import { readFileSync } from "node:fs";
import path from "node:path";
import { CONTRACT, memoryFeatures } from "@memslot/core";
import {
  type TestRunner,
  chunkStoreConformance,
  createInMemoryStore,
  createReferencePlugin,
  deterministicEmbeddingPlugin,
  deterministicRerankPlugin,
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

const calls = "search|readFile|sync|check|compact|probeEmbeddingAvailability|probeVectorAvailability";
const perCall = new RegExp(`^(?:${calls})\\.(?=abort-before|abort-during|repeat$)`, "u");

/** The ids of the checks. Those that exist for each call are one, with `*` for the call. */
function idsOf(register: (runner: TestRunner) => void): string[] {
  const ids: string[] = [];
  register({ describe: (_name, body) => body(), test: (name) => void ids.push(name.replace(/: .*/su, "")) });
  return ids.filter((id) => id !== "suite").map((id) => id.replace(perCall, "*."));
}

describe("docs/contract.md", () => {
  test("has a sentence for every check of the kit, and names no check that is not there", () => {
    const suites: ((runner: TestRunner) => void)[] = [
      (runner) => memoryConformance(runner, { plugin: createReferencePlugin() }),
      (runner) => chunkStoreConformance(runner, { open: async () => createInMemoryStore(), reopens: true }),
      (runner) => embeddingConformance(runner, { plugin: deterministicEmbeddingPlugin }),
      (runner) => rerankConformance(runner, { plugin: deterministicRerankPlugin }),
    ];
    const proven = new Set(proofs.map(({ check }) => check));
    expect([...proven].toSorted()).toEqual([...new Set(suites.flatMap(idsOf))].toSorted());
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
