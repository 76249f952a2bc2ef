import { rmSync } from "node:fs";
import path from "node:path";
import type { MemorySearchManager, Reranker, ScoreParts, SearchWhy, WhyStep, WhyTarget } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { tempFolder } from "@memslot/test-tools/files";
import { manageIndex } from "../manager.ts";
import { contextFor, searchOptions, syncParams } from "../../test/support/context.ts";
import { fakeEmbeddings } from "../../test/support/fake-embeddings.ts";
import { createFakeStore } from "../../test/support/fake-store.ts";
import { randomFrom } from "@memslot/test-tools/random";
import tables from "./test/golden-notes.json" with { type: "json" };

const byLength: Reranker = {
  id: "by-length",
  model: "m",
  rerank: async (_query, texts) => texts.map((text) => text.length),
};

async function open(workspaceDir: string, { hybrid = false, reranked = false } = {}): Promise<MemorySearchManager> {
  const context = contextFor(workspaceDir, hybrid ? { provider: fakeEmbeddings() } : {});
  const rerank = { reranker: byLength, requested: "by-length", reason: "asked for by the test", degraded: false };
  return await manageIndex({
    index: createFakeStore(),
    context: reranked ? { ...context, rerank } : context,
    backend: "test",
  });
}

async function why(
  manager: MemorySearchManager,
  query: string,
  target: WhyTarget,
  change: Parameters<typeof searchOptions>[0] = {},
): Promise<SearchWhy> {
  const answer = await manager.why?.(query, target, searchOptions(change));
  if (answer === undefined) throw new Error("nothing was answer");
  return answer;
}

function failedStep({ rungs }: SearchWhy): WhyStep | undefined {
  return rungs.find(({ state }) => state === "failed")?.step;
}

function says({ rungs }: SearchWhy, step: WhyStep): string {
  return rungs.find((rung) => rung.step === step)?.says ?? "";
}

function sumOf({ words, names, dates, meaning, rerank }: ScoreParts): number {
  return words + names + dates + meaning + (rerank?.change ?? 0);
}

describe("the parts of a score", () => {
  const some = "budget server kitten travel ticket zebra walrus euro lamp river".split(" ");
  const random = randomFrom(50);
  const line = (): string => Array.from({ length: 3 + random.below(9) }, () => random.pick(some)).join(" ");
  const files = Object.fromEntries(
    Array.from({ length: 40 }, (_, index) => [
      index < 20
        ? `memory/2026-03-${String(index + 1).padStart(2, "0")}.md`
        : `memory/${random.pick(some)}-${index}.md`,
      `# ${random.pick(some)}\n\n${Array.from({ length: 1 + random.below(12) }, line).join("\n\n")}\n`,
    ]),
  );
  const queries = Array.from({ length: 10 }, () => {
    const words = Array.from({ length: 1 + random.below(3) }, () => random.pick(some)).join(" ");
    return random.chance(0.3) ? `${words} on 5 March 2026` : words;
  });

  test.each([
    ["of words", {}],
    ["of words and meaning", { hybrid: true }],
    ["with a reranker", { reranked: true }],
    ["of all of them", { hybrid: true, reranked: true }],
  ])("%s add up to it", async (_name, how) => {
    const manager = await open(tempFolder(files), how);
    await manager.sync?.(syncParams());
    const seen = { words: 0, names: 0, dates: 0, meaning: 0, rerank: 0 };
    for (const query of [...queries, "5 March 2026"]) {
      const results = await manager.search(query, searchOptions({ explain: true, maxResults: 20, maxTokens: 4000 }));
      for (const { parts, score } of results) {
        if (parts === undefined) throw new Error("a result without parts");
        expect(sumOf(parts)).toBeCloseTo(score, 9);
        for (const name of ["words", "names", "dates", "meaning"] as const) {
          expect(parts[name]).toBeGreaterThanOrEqual(0);
          if (parts[name] > 0) seen[name]++;
        }
        if (parts.rerank !== undefined && parts.rerank.before !== parts.rerank.after) seen.rerank++;
      }
    }
    // What is never there is not proved to add up.
    for (const name of ["words", "names", "dates"] as const) expect(seen[name]).toBeGreaterThan(0);
    expect(seen.meaning > 0).toBe("hybrid" in how);
    expect(seen.rerank > 0).toBe("reranked" in how);
    await manager.close?.();
  });
});

describe("why something is not found", () => {
  interface Case {
    what: string;
    files: Record<string, string>;
    query?: string;
    target: WhyTarget;
    options?: Parameters<typeof searchOptions>[0];
    step: WhyStep;
    sentence?: string;
    act?: string;
  }
  test.each<Case>(tables.whyNot as Case[])(
    "$what",
    async ({ files, query = "zebra", target, options, step, sentence = "", act = "" }) => {
      const answer = await why(await open(tempFolder(files)), query, target, options);
      expect(failedStep(answer)).toBe(step);
      expect(answer.sentence).toContain(sentence);
      expect(JSON.stringify(answer.act) ?? "").toContain(act);
      const failed = answer.rungs.findIndex(({ state }) => state === "failed");
      if (step === "file") expect(answer.rungs.slice(failed + 1).every(({ state }) => state === "unknown")).toBe(true);
    },
  );

  test("it contains no word of the query, and meaning was not asked", async () => {
    const folder = tempFolder({ "MEMORY.md": "zebra", "memory/a.md": "giraffe" });
    const answer = await why(await open(folder), "zebra", { text: "giraffe" });
    expect(failedStep(answer)).toBe("candidate");
    expect(says(answer, "words")).toBe("it contains no word of the query; missing: zebra");
    expect(says(answer, "meaning")).toContain("vector search was not used");
    expect(answer.candidates).toBe(1);
  });

  test("it is too far in meaning to be a candidate, and is scored directly", async () => {
    const near = Array.from({ length: 120 }, (_, index) => [`memory/n${index}.md`, `The kitten ${index}`]);
    const folder = tempFolder({ ...Object.fromEntries(near), "memory/far.md": "A machine." });
    const manager = await open(folder, { hybrid: true });
    await manager.sync?.(syncParams());
    const answer = await why(manager, "cat", { path: "memory/far.md" });
    expect(failedStep(answer)).toBe("candidate");
    expect(says(answer, "meaning")).toMatch(/^its similarity is 0\.\d+, scored directly/u);
  });

  test("its score is below minScore", async () => {
    const folder = tempFolder({ "MEMORY.md": "The kitten and the server.", "memory/b.md": "kitten walrus" });
    const manager = await open(folder);
    const answer = await why(manager, "kitten walrus", { path: "MEMORY.md" }, { minScore: 0.99, strict: true });
    expect(failedStep(answer)).toBe("score");
    const minScore = answer.act?.minScore ?? 1;
    expect(await why(manager, "kitten walrus", { path: "MEMORY.md" }, { minScore, strict: true })).toMatchObject({
      found: true,
    });
  });

  test("it is cut by the limit: says what is before it, and the limit that shows it", async () => {
    const files = Object.fromEntries(
      Array.from({ length: 8 }, (_, index) => [`memory/n${index}.md`, `The walrus${" and sleeps".repeat(index)}.`]),
    );
    const manager = await open(tempFolder(files));
    const answer = await why(manager, "walrus", { path: "memory/n7.md", line: 1 }, { maxResults: 3 });
    expect(failedStep(answer)).toBe("answer");
    expect(answer.sentence).toMatch(
      /^rank 8 of 8, cut by the limit of 3 results; memory\/n6\.md:1 before it leads by/u,
    );
    expect(answer).toMatchObject({ place: { rank: 8 }, beatenBy: { rank: 7, path: "memory/n6.md" } });
    expect(sumOf(answer.beatenBy?.parts as ScoreParts)).toBeCloseTo(answer.beatenBy?.score ?? 0, 9);
    const maxResults = answer.act?.maxResults ?? 1;
    expect((await why(manager, "walrus", { path: "memory/n7.md", line: 1 }, { maxResults })).found).toBe(true);
  });

  test("it is noise beside the best, and in a list it is none", async () => {
    const query = "zebra walrus kitten travel ticket river lamp budget euro";
    const files = { "memory/a.md": query, "memory/b.md": "One euro.", "memory/c.md": "Two euro." };
    const manager = await open(tempFolder(files));
    expect((await why(manager, query, { path: "memory/b.md" })).sentence).toMatch(/^rank \d of 3, excluded as noise/u);
    expect((await why(manager, `${query} -elephant`, { path: "memory/b.md" })).found).toBe(true);
  });

  test("nothing: it is found, and the reranker's move is reported", async () => {
    const folder = tempFolder({ "memory/a.md": "walrus", "memory/b.md": "The walrus sleeps on a very long stone." });
    const answer = await why(await open(folder, { reranked: true }), "walrus", { path: "memory/b.md" });
    expect(answer.found).toBe(true);
    expect(failedStep(answer)).toBeUndefined();
    expect(answer.sentence).toContain("rank 1 of 2; the reranker moved it from 2 to 1");
  });

  test("a file that was deleted since is no longer there", async () => {
    const folder = tempFolder({ "MEMORY.md": "zebra", "memory/a.md": "zebra" });
    const manager = await open(folder);
    expect((await why(manager, "zebra", { path: "memory/a.md" })).found).toBe(true);
    rmSync(path.join(folder, "memory/a.md"));
    expect(failedStep(await why(manager, "zebra", { path: "memory/a.md" }))).toBe("file");
  });
});
