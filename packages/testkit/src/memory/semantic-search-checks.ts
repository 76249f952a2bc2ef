import assert from "node:assert/strict";
import { EmbeddingError, type EmbeddingProvider } from "@memslot/core";
import { deterministicEmbeddings } from "../deterministic-providers.ts";
import { type MemoryCheck, assertSound, managerSearch, numbered, pathsOf, settles } from "./memory-test-environment.ts";

/** Answers until `hangFromNow`; from then on a call ends only when its signal is aborted. */
function hangingEmbeddings(): EmbeddingProvider & { hangFromNow(): void; hangingCalls(): number } {
  const fake = deterministicEmbeddings();
  let hangs = false;
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
    ...fake,
    embedQuery: (text, options) => (hangs ? hang(options?.signal) : fake.embedQuery(text, options)),
    embedBatch: (texts, options) => (hangs ? hang(options?.signal) : fake.embedBatch(texts, options)),
    hangFromNow: () => void (hangs = true),
    hangingCalls: () => count,
  };
}

/** The built-in synonyms join `car` and `automobile`; the file contains no word of the query. */
const paraphrase = { query: "automobile", path: "memory/garage.md" };
const garage: Readonly<Record<string, string>> = {
  [paraphrase.path]: "The car is in the second row of the garage.\n",
  ...numbered(40, (index) => `Groceries and errands of the day, list ${index}.\n`),
};

/** What is found by meaning, and how a manager works with its embedding provider. */
export const meaningChecks: readonly MemoryCheck[] = [
  {
    id: "meaning.paraphrase",
    promise: "a paraphrase finds its file, with its similarity; an unrelated text stays below the default minScore",
    needs: ["vector"],
    async run(lab) {
      const opened = await lab.openWith(garage, { embeddings: deterministicEmbeddings() });
      const { results } = await opened.ask(paraphrase.query);
      assert.deepEqual(pathsOf(results), [paraphrase.path]);
      assert.ok((results[0]?.vectorScore ?? 0) > 0.35, `vectorScore is ${results[0]?.vectorScore}`);
      const unrelated = await opened.ask("physician");
      assert.deepEqual(pathsOf(unrelated.results), []);
      assert.ok((unrelated.report.reason ?? "") !== "", "the report gives no reason");
    },
  },
  {
    id: "meaning.other-model",
    promise: "another model has its own vectors, and those of the first one are kept",
    needs: ["vector", "ownsIndex"],
    async run(lab) {
      await lab.write(garage);
      const first = deterministicEmbeddings({ model: "one" });
      for (const embeddings of [first, deterministicEmbeddings({ model: "two", dimensions: 64 }), first]) {
        const opened = await lab.open({ embeddings });
        await opened.settleVectors();
        assert.deepEqual(pathsOf((await opened.ask(paraphrase.query)).results), [paraphrase.path], embeddings.model);
        await opened.memory.close();
      }
      assert.equal(first.calls().texts, 41, "the vectors of the first model were made twice");
    },
  },
  {
    id: "meaning.without-provider",
    promise: "without a provider, words are found, and the report and the status name the mode",
    needs: ["keyword"],
    async run(lab) {
      const opened = await lab.openWith(garage, { embeddings: "none" });
      await opened.finds("garage", paraphrase.path);
      const { report } = await opened.ask("garage");
      assertSound(report);
      const { provider, custom } = opened.memory.status();
      assert.deepEqual([report.mode, provider, custom?.searchMode ?? "keyword"], ["keyword", "none", "keyword"]);
      const { ok, error } = await opened.memory.probeEmbeddingAvailability();
      assert.equal(ok, false);
      assert.ok((error ?? "").trim() !== "", "the probe gives no reason");
    },
  },
  {
    id: "meaning.with-provider",
    promise: "with a provider, the report, the status and both probes name it",
    needs: ["vector"],
    async run(lab) {
      const opened = await lab.openWith(garage, { embeddings: deterministicEmbeddings() });
      const { report } = await opened.ask("garage");
      assertSound(report);
      assert.equal(report.mode, lab.capabilities.keyword ? "hybrid" : "vector");
      assert.equal(opened.memory.status().provider, "deterministic");
      assert.equal((await opened.memory.probeEmbeddingAvailability()).ok, true);
      assert.equal(await opened.memory.probeVectorAvailability(), true);
    },
  },
  {
    id: "meaning.failing-provider",
    promise: "a provider that fails every third call costs no file and no answer",
    async run(lab) {
      await lab.write(garage);
      const opened = await lab.open({ embeddings: deterministicEmbeddings({ failEvery: 3 }) });
      const report = await opened.settleVectors();
      if (lab.capabilities.ownsIndex) assert.deepEqual([report?.failed, report?.pendingVectors], [[], undefined]);
      for (let round = 0; round < 6; round++) {
        if (lab.capabilities.keyword) await opened.finds("garage", paraphrase.path);
        else await opened.ask("garage").catch(() => undefined);
      }
      if (!lab.capabilities.vector) return;
      const answers = [await opened.paths(paraphrase.query), await opened.paths(paraphrase.query)];
      assert.ok(answers.flat().includes(paraphrase.path), "the paraphrase was not found");
    },
  },
  {
    id: "meaning.provider-down",
    promise: "with a provider that is down, words are found, the report names it, and its vectors follow later",
    needs: ["keyword", "vector"],
    async run(lab) {
      await lab.write(garage);
      const fake = deterministicEmbeddings();
      let down = true;
      const refuse = async (): Promise<never> => Promise.reject(new EmbeddingError("auth", "the provider is down"));
      const opened = await lab.open({
        embeddings: {
          ...fake,
          embedQuery: (...call) => (down ? refuse() : fake.embedQuery(...call)),
          embedBatch: (...call) => (down ? refuse() : fake.embedBatch(...call)),
        },
      });
      const first = await opened.settle();
      if (lab.capabilities.ownsIndex) {
        const { chunks = 0, reason = "" } = first?.pendingVectors ?? {};
        assert.deepEqual([first?.added, first?.failed], [41, []]);
        assert.ok(chunks > 0 && reason.includes("down"), JSON.stringify(first));
      }
      await opened.finds("garage", paraphrase.path);
      const { report } = await opened.ask("garage");
      assert.equal(report.state, "degraded", JSON.stringify(report));
      assert.ok((report.reason ?? "").includes("down"), `the reason is ${report.reason}`);
      assert.equal((await opened.memory.probeEmbeddingAvailability()).ok, false);
      down = false;
      await opened.settleVectors();
      await opened.finds(paraphrase.query, paraphrase.path);
      assertSound((await opened.ask("garage")).report);
    },
  },
  {
    id: "meaning.providers-owner",
    promise: "the manager does not close a provider of the application",
    async run(lab) {
      let closed = 0;
      const embeddings = { ...deterministicEmbeddings(), close: async () => void closed++ };
      const opened = await lab.openWith(garage, { embeddings });
      await opened.memory.close();
      assert.equal(closed, 0, "the manager closed the provider");
    },
  },
  {
    id: "meaning.abort",
    promise: "an abort reaches the provider",
    needs: ["vector"],
    async run(lab) {
      const hanging = hangingEmbeddings();
      const { manager } = await lab.openWith(garage, { embeddings: hanging });
      hanging.hangFromNow();
      const sync = { reason: "conformance", force: false, wait: true, progress: () => undefined };
      const calls: Record<string, (signal: AbortSignal) => Promise<unknown>> = {
        search: (signal) => manager.search(paraphrase.query, managerSearch({ signal })),
        async sync(signal) {
          await lab.write({ "memory/new.md": "# New\n\n- A note that has no vector yet.\n" });
          return manager.sync?.({ ...sync, signal });
        },
        probeEmbeddingAvailability: (signal) => manager.probeEmbeddingAvailability(signal),
      };
      for (const [name, call] of Object.entries(calls)) {
        const controller = new AbortController();
        const running = call(controller.signal);
        setTimeout(() => controller.abort(), 50);
        await settles(`an aborted ${name} with a provider that hangs`, running, lab.patienceMs);
        assert.equal(hanging.hangingCalls(), 0, `the provider still works for the aborted ${name}`);
      }
    },
  },
];
