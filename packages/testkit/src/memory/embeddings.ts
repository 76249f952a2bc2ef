import assert from "node:assert/strict";
import { EmbeddingError, type EmbeddingProvider } from "@memslot/core";
import { deterministicEmbeddings } from "../deterministic-embeddings.ts";
import { assertFinds, assertSound, managerSearch, pathsOf, settles } from "./lab/expect.ts";
import type { MemoryCheck } from "./lab/lab.ts";
import { paraphrase, settleVectors, writeParaphraseNotes } from "./lab/notes.ts";

/** Answers until it is told to hang; then it ends a call only when its signal is aborted. */
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

/** What a manager makes of the embedding provider that it is given, and of having none. */
export const embeddingChecks: readonly MemoryCheck[] = [
  {
    name: "embeddings: with none, words are found and the report and the status say so",
    needs: ["keyword"],
    async run(lab) {
      await writeParaphraseNotes(lab);
      const opened = await lab.open({ embeddings: "none" });
      await opened.settle();
      await assertFinds(opened, "garage", paraphrase.path);
      const { report } = await opened.ask("garage");
      assertSound(report);
      assert.equal(report.mode, "keyword");
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
      await writeParaphraseNotes(lab);
      const opened = await lab.open({ embeddings: deterministicEmbeddings() });
      await opened.settle();
      const { report } = await opened.ask("garage");
      assertSound(report);
      assert.equal(report.mode, lab.capabilities.keyword ? "hybrid" : "vector");
      assert.equal(opened.memory.status().provider, "deterministic");
      assert.equal((await opened.memory.probeEmbeddingAvailability()).ok, true);
      assert.equal(await opened.memory.probeVectorAvailability(), true);
    },
  },
  {
    name: "embeddings: a provider that fails every third call costs no file and no answer",
    async run(lab) {
      await writeParaphraseNotes(lab);
      const opened = await lab.open({ embeddings: deterministicEmbeddings({ failEvery: 3 }) });
      const report = await settleVectors(opened);
      if (lab.capabilities.ownsIndex) assert.deepEqual([report?.failed, report?.pendingVectors], [[], undefined]);
      for (let round = 0; round < 6; round++) {
        if (lab.capabilities.keyword) await assertFinds(opened, "garage", paraphrase.path);
        else await opened.ask("garage").catch(() => undefined);
      }
      if (!lab.capabilities.vector) return;
      const answers = [await opened.ask(paraphrase.query), await opened.ask(paraphrase.query)];
      assert.ok(
        answers.some(({ results }) => pathsOf(results).includes(paraphrase.path)),
        "the paraphrase was not found",
      );
    },
  },
  {
    name: "embeddings: a provider that is down leaves words findable, is named, and is caught up with later",
    needs: ["keyword", "vector"],
    async run(lab) {
      await writeParaphraseNotes(lab);
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
        assert.deepEqual([first?.added, first?.failed], [41, []]);
        assert.ok(
          (first?.pendingVectors?.chunks ?? 0) > 0 && (first?.pendingVectors?.reason ?? "").includes("down"),
          JSON.stringify(first),
        );
      }
      await assertFinds(opened, "garage", paraphrase.path);
      const { report } = await opened.ask("garage");
      assert.equal(report.state, "degraded", JSON.stringify(report));
      assert.ok((report.reason ?? "").includes("down"), `the reason is ${report.reason}`);
      assert.equal((await opened.memory.probeEmbeddingAvailability()).ok, false);
      down = false;
      await settleVectors(opened);
      await assertFinds(opened, paraphrase.query, paraphrase.path);
      assertSound((await opened.ask("garage")).report);
    },
  },
  {
    name: "embeddings: a provider that the application made is the application's to close",
    async run(lab) {
      await writeParaphraseNotes(lab);
      let closed = 0;
      const opened = await lab.open({ embeddings: { ...deterministicEmbeddings(), close: async () => void closed++ } });
      await opened.settle();
      await opened.memory.close();
      assert.equal(closed, 0, "the manager closed the provider, which others may still use");
    },
  },
  {
    name: "embeddings: an abort reaches the provider",
    needs: ["vector"],
    async run(lab) {
      await writeParaphraseNotes(lab);
      const hanging = hangingEmbeddings();
      const { manager, settle } = await lab.open({ embeddings: hanging });
      await settle();
      hanging.hangFromNow();
      const starts: [string, (signal: AbortSignal) => Promise<unknown>][] = [
        ["search", (signal) => manager.search(paraphrase.query, managerSearch({ signal }))],
        [
          "sync",
          async (signal) => {
            await lab.write("memory/new.md", "# New\n\n- A note that has no vector yet.\n");
            return manager.sync?.({
              reason: "conformance",
              force: false,
              wait: true,
              progress: () => undefined,
              signal,
            });
          },
        ],
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
];
