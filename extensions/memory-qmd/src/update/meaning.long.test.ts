import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { models } from "./index-yaml.ts";
import { type LabOptions, type MemoryLab, memoryLab, type OpenedMemory, qmdStatus } from "../test/memory-lab.ts";
import { eventually } from "@memslot/test-tools/wait";
import { tempFolder } from "../process/test/qmd-lab.ts";

/** A cache folder with files under the names of the models. */
function cacheWithModels(): string {
  const cache = tempFolder("memslot-models-");
  const folder = join(cache, "qmd/models");
  mkdirSync(folder, { recursive: true });
  for (const uri of Object.values(models)) writeFileSync(join(folder, `hf_some_${uri.split("/").at(-1)}`), "GGUF");
  return cache;
}

/** Two notes that qmd has read and made vectors of. */
async function openSemantic(qmd: LabOptions["qmd"] = {}): Promise<MemoryLab & OpenedMemory> {
  const lab = memoryLab();
  lab.write("memory/a.md", "The lynx was seen near the old mill.\n");
  lab.write("memory/b.md", "Groceries, a walk, supper.\n");
  const opened = await lab.open({
    qmd: { searchMode: "vsearch", ...qmd },
    environment: { XDG_CACHE_HOME: cacheWithModels() },
  });
  await opened.memory.sync();
  await eventually(() => qmdStatus(opened)["needsEmbedding"] === 0);
  return { ...lab, ...opened };
}

describe("a search by meaning", () => {
  test("asks with the question as it is and with its words, and finds what shares no word", async () => {
    const lab = await openSemantic();
    const { results, report } = await lab.ask("Where was the lynx?", { minScore: 0 });
    const [call] = lab.fake.calls("query");
    expect(call?.arguments).toMatchObject({
      searches: [
        { type: "vec", query: "Where was the lynx?" },
        { type: "lex", query: "lynx" },
      ],
      rerank: false,
    });
    expect([report.mode, report.state]).toEqual(["hybrid", "ok"]);
    expect(results.map(({ path }) => path)).toEqual(["memory/a.md", "memory/b.md"]);
    // It is no cosine.
    expect(results.every(({ vectorScore }) => vectorScore === undefined)).toBe(true);
    expect(lab.memory.status().custom?.searchMode).toBe("hybrid");
    expect(await lab.memory.probeVectorAvailability()).toBe(true);
    for (const { env } of lab.fake.starts("mcp").slice(-1)) expect(env["CI"]).toBeUndefined();
  });

  test("is reranked only where the configuration says so", async () => {
    const lab = await openSemantic({ rerank: true });
    await lab.ask("Where was the lynx?");
    expect(lab.fake.calls("query")[0]?.arguments).toMatchObject({ rerank: true, candidateLimit: 10 });
  });

  test("that takes too long is answered by words in the same call, and not tried again for a while", async () => {
    const lab = await openSemantic({ limits: { timeoutMs: 4000 } });
    lab.fake.set({ mcp: { hang: true } });
    const { results, report } = await lab.ask("lynx").catch(() => ({ results: [], report: undefined }));
    // The server hangs for words too; the command line answers.
    expect(results.map(({ path }) => path)).toEqual(["memory/a.md"]);
    expect(report?.state).toBe("degraded");
    expect(report?.reason).toMatch(/words answered alone/);
    lab.fake.set({});
    const before = lab.fake.calls("query").length;
    const again = await lab.ask("lynx");
    expect(again.report.reason).toMatch(/words answered alone/);
    for (const { arguments: given } of lab.fake.calls("query").slice(before))
      expect(JSON.stringify(given)).not.toContain('"vec"');
  });

  test("that has failed is told to a shared session without what qmd has said of it", async () => {
    const shared = tempFolder("memslot-shared-");
    for (let index = 0; index < 30; index++) writeFileSync(join(shared, `${index}.md`), `The lynx rests, ${index}.\n`);
    const lab = await openSemantic({ limits: { timeoutMs: 4000 }, paths: [{ path: shared, name: "Shared notes" }] });
    lab.fake.set({ mcp: { hang: true } });
    const said = (await lab.ask("lynx")).report.reason ?? "";
    expect(said).toMatch(/words answered alone: ./);
    const { results, report } = await lab.ask("lynx", { sessionKey: "agent:main:telegram:group:-1" });
    expect(results).not.toEqual([]);
    expect(report.conditions).toEqual([{ state: "degraded", reason: "words answered alone" }]);
    expect(JSON.stringify(report)).not.toContain(said);
  });

  test("without models on this machine is answered by words, says so, and fetches nothing", async () => {
    const lab = memoryLab();
    lab.write("memory/a.md", "The lynx was seen near the old mill.\n");
    const { memory, ask } = await lab.open({
      qmd: { searchMode: "query" },
      environment: { XDG_CACHE_HOME: tempFolder("memslot-no-models-") },
    });
    await memory.sync();
    const { results, report } = await ask("lynx");
    expect(results).toHaveLength(1);
    expect([report.state, report.mode]).toEqual(["degraded", "keyword"]);
    expect(report.reason).toMatch(/models of qmd are not on this machine/);
    expect(report.action).toMatch(/qmd pull/);
    expect(await memory.probeEmbeddingAvailability()).toMatchObject({ ok: false });
    expect(await memory.probeVectorAvailability()).toBe(false);
    expect(lab.fake.starts("embed")).toEqual([]);
    for (const { env } of lab.fake.starts()) expect(env["CI"]).toBe("1");
  });

  test("with an embed that somebody else is at goes on by words", async () => {
    const lab = memoryLab();
    lab.write("memory/a.md", "The lynx was seen near the old mill.\n");
    lab.fake.set({ embed: { embedLocked: true } });
    const { memory, ask } = await lab.open({
      qmd: { searchMode: "vsearch" },
      environment: { XDG_CACHE_HOME: cacheWithModels() },
    });
    await memory.sync();
    await eventually(() => lab.fake.starts("embed").length > 0);
    const { paths, report } = await ask("lynx");
    expect([paths, report.state]).toEqual([["memory/a.md"], "degraded"]);
    expect(report.reason).toMatch(/no vectors/);
  });
});
