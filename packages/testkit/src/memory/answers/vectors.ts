import assert from "node:assert/strict";
import { deterministicEmbeddings } from "../../deterministic-embeddings.ts";
import { pathsOf } from "../lab/expect.ts";
import type { MemoryCheck } from "../lab/lab.ts";
import { paraphrase, settleVectors, writeParaphraseNotes } from "../lab/notes.ts";

/** What finding by meaning promises. */
export const vectorChecks: readonly MemoryCheck[] = [
  {
    name: "vector: a paraphrase finds its file, with its similarity",
    needs: ["vector"],
    async run(lab) {
      await writeParaphraseNotes(lab);
      const opened = await lab.open({ embeddings: deterministicEmbeddings() });
      await opened.settle();
      const { results } = await opened.ask(paraphrase.query);
      assert.deepEqual(pathsOf(results), [paraphrase.path]);
      assert.ok((results[0]?.vectorScore ?? 0) > 0.35, `vectorScore is ${results[0]?.vectorScore}`);
    },
  },
  {
    name: "vector: what is near in no way stays below the default minScore",
    needs: ["vector"],
    async run(lab) {
      await writeParaphraseNotes(lab);
      const opened = await lab.open({ embeddings: deterministicEmbeddings() });
      await opened.settle();
      const { results, report } = await opened.ask("physician");
      assert.deepEqual(pathsOf(results), []);
      assert.ok((report.reason ?? "") !== "");
    },
  },
  {
    name: "vector: another model makes its own vectors, and the first one's are still there",
    needs: ["vector", "ownsIndex"],
    async run(lab) {
      await writeParaphraseNotes(lab);
      const [one, two] = [
        deterministicEmbeddings({ model: "one" }),
        deterministicEmbeddings({ model: "two", dimensions: 64 }),
      ];
      for (const embeddings of [one, two, one]) {
        const opened = await lab.open({ embeddings });
        await settleVectors(opened);
        assert.deepEqual(
          pathsOf((await opened.ask(paraphrase.query)).results),
          [paraphrase.path],
          `with the model ${embeddings.model}`,
        );
        await opened.memory.close();
      }
      assert.equal(one.calls().texts, 41, "the vectors of the first model were made twice");
    },
  },
];
