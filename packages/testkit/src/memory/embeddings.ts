import assert from "node:assert/strict";
import type { EmbeddingProvider, SyncReport } from "@memslot/core";
import { deterministicEmbeddings } from "../deterministic-embeddings.ts";
import { assertFinds, managerSearch, pathsOf, settles } from "./expect.ts";
import type { MemoryCheck, MemoryLab, OpenedMemory } from "./lab.ts";

/** The built-in synonyms of the fake join `car` and `automobile`; no word of the query stands in the file. */
const paraphrase = { query: "automobile", text: "The car is in the second row of the garage.\n" };

async function writeNotes(lab: MemoryLab): Promise<void> {
  await lab.write("memory/garage.md", paraphrase.text);
  for (let index = 0; index < 40; index++) await lab.write(`memory/other-${index}.md`, `Groceries and errands of the day, list ${index}.\n`);
}

/** A few syncs, until no vector is missing. */
async function settleVectors(opened: OpenedMemory): Promise<SyncReport | undefined> {
  let report = await opened.settle();
  for (let round = 0; round < 20 && report?.pendingVectors !== undefined; round++) report = await opened.settle();
  return report;
}

/** Answers nothing, and ends a call only when its signal is aborted. */
function hangingEmbeddings(): EmbeddingProvider & { hangingCalls(): number } {
  let count = 0;
  const hang = (signal: AbortSignal | undefined): Promise<never> => {
    count++;
    return new Promise((_resolve, reject) => {
      signal?.addEventListener("abort", () => {
        count--;
        reject(signal.reason as Error);
      });
    });
  };
  return {
    id: "hanging",
    model: "hanging",
    dimensions: 8,
    embedQuery: (_text, options) => hang(options?.signal),
    embedBatch: (_texts, options) => hang(options?.signal),
    hangingCalls: () => count,
  };
}

/** What a manager makes of the embedding provider that it is given, and of having none. */
export const embeddingChecks: readonly MemoryCheck[] = [
  {
    name: "embeddings: with none, words are found and the report and the status say so",
    needs: ["keyword"],
    async run(lab) {
      await writeNotes(lab);
      const opened = await lab.open({ embeddings: "none" });
      await opened.settle();
      await assertFinds(opened, "garage", "memory/garage.md");
      const { report } = await opened.ask("garage");
      assert.deepEqual([report.state, report.mode], ["ok", "keyword"]);
      const status = opened.memory.status();
      assert.deepEqual([status.provider, status.custom?.searchMode ?? "keyword"], ["none", "keyword"]);
      const { ok, error } = await opened.memory.probeEmbeddingAvailability();
      assert.equal(ok, false);
      assert.ok((error ?? "").trim() !== "", "the probe does not say why");
    },
  },
  {
    name: "embeddings: with one, the report and the status say so",
    needs: ["vector"],
    async run(lab) {
      await writeNotes(lab);
      const opened = await lab.open({ embeddings: deterministicEmbeddings() });
      await opened.settle();
      const { report } = await opened.ask("garage");
      assert.equal(report.state, "ok", report.reason);
      assert.equal(report.mode, lab.capabilities.keyword ? "hybrid" : "vector");
      assert.equal(opened.memory.status().provider, "deterministic");
      assert.equal((await opened.memory.probeEmbeddingAvailability()).ok, true);
      assert.equal(await opened.memory.probeVectorAvailability(), true);
    },
  },
  {
    name: "vector: a paraphrase finds its file, with its similarity",
    needs: ["vector"],
    async run(lab) {
      await writeNotes(lab);
      const opened = await lab.open({ embeddings: deterministicEmbeddings() });
      await opened.settle();
      const { results } = await opened.ask(paraphrase.query);
      assert.deepEqual(pathsOf(results), ["memory/garage.md"]);
      assert.ok((results[0]?.vectorScore ?? 0) > 0.35, `vectorScore is ${results[0]?.vectorScore}`);
    },
  },
  {
    name: "vector: what is near in no way stays below the default minScore",
    needs: ["vector"],
    async run(lab) {
      await writeNotes(lab);
      const opened = await lab.open({ embeddings: deterministicEmbeddings() });
      await opened.settle();
      const { results, report } = await opened.ask("physician");
      assert.deepEqual(pathsOf(results), []);
      assert.ok((report.reason ?? "") !== "");
    },
  },
  {
    name: "embeddings: a provider that fails every third call costs no file and no answer",
    async run(lab) {
      await writeNotes(lab);
      const opened = await lab.open({ embeddings: deterministicEmbeddings({ failEvery: 3 }) });
      const report = await settleVectors(opened);
      if (lab.capabilities.ownsIndex) assert.deepEqual([report?.failed, report?.pendingVectors], [[], undefined]);
      for (let round = 0; round < 6; round++) {
        if (lab.capabilities.keyword) await assertFinds(opened, "garage", "memory/garage.md");
        else await opened.ask("garage").catch(() => undefined);
      }
      if (!lab.capabilities.vector) return;
      const answers = [await opened.ask(paraphrase.query), await opened.ask(paraphrase.query)];
      assert.ok(answers.some(({ results }) => pathsOf(results).includes("memory/garage.md")), "the paraphrase was not found");
    },
  },
  {
    name: "embeddings: a provider that is down leaves words findable, is named, and is caught up with later",
    needs: ["keyword", "vector"],
    async run(lab) {
      await writeNotes(lab);
      const fake = deterministicEmbeddings();
      let down = true;
      const refuse = async (): Promise<never> => Promise.reject(new Error("the provider is down"));
      const opened = await lab.open({
        embeddings: {
          ...fake,
          embedQuery: (...call) => (down ? refuse() : fake.embedQuery(...call)),
          embedBatch: (...call) => (down ? refuse() : fake.embedBatch(...call)),
        },
      });
      const first = await opened.settle();
      if (lab.capabilities.ownsIndex) {
        assert.deepEqual([first?.added, first?.failed], [41, []]);
        assert.ok((first?.pendingVectors?.chunks ?? 0) > 0 && (first?.pendingVectors?.reason ?? "").includes("down"), JSON.stringify(first));
      }
      await assertFinds(opened, "garage", "memory/garage.md");
      const { report } = await opened.ask("garage");
      assert.equal(report.state, "degraded", JSON.stringify(report));
      assert.ok((report.reason ?? "").includes("down"), `the reason is ${report.reason}`);
      assert.equal((await opened.memory.probeEmbeddingAvailability()).ok, false);
      down = false;
      await settleVectors(opened);
      await assertFinds(opened, paraphrase.query, "memory/garage.md");
      assert.equal((await opened.ask("garage")).report.state, "ok");
    },
  },
  {
    name: "embeddings: an abort reaches the provider",
    needs: ["vector"],
    async run(lab) {
      await writeNotes(lab);
      const healthy = await lab.open({ embeddings: "none" });
      await healthy.settle();
      await healthy.memory.close();
      const hanging = hangingEmbeddings();
      const { manager } = await lab.open({ embeddings: hanging });
      const starts: [string, (signal: AbortSignal) => Promise<unknown>][] = [
        ["sync", async (signal) => manager.sync?.({ reason: "conformance", force: false, progress: () => undefined, signal })],
        ["search", (signal) => manager.search(paraphrase.query, managerSearch({ signal }))],
        ["probeEmbeddingAvailability", (signal) => manager.probeEmbeddingAvailability(signal)],
      ];
      for (const [name, start] of starts) {
        const controller = new AbortController();
        const running = start(controller.signal);
        setTimeout(() => controller.abort(), 50);
        await settles(`${name} with a provider that hangs, after an abort,`, running, lab.patienceMs);
        assert.equal(hanging.hangingCalls(), 0, `the provider still works for the aborted ${name}`);
      }
    },
  },
  {
    name: "vector: another model makes its own vectors, and the first one's are still there",
    needs: ["vector", "ownsIndex"],
    async run(lab) {
      await writeNotes(lab);
      const [one, two] = [deterministicEmbeddings({ model: "one" }), deterministicEmbeddings({ model: "two", dimensions: 64 })];
      for (const embeddings of [one, two, one]) {
        const opened = await lab.open({ embeddings });
        await settleVectors(opened);
        assert.deepEqual(pathsOf((await opened.ask(paraphrase.query)).results), ["memory/garage.md"], `with the model ${embeddings.model}`);
        await opened.memory.close();
      }
      assert.equal(one.calls().texts, 41, "the vectors of the first model were made twice");
    },
  },
];
