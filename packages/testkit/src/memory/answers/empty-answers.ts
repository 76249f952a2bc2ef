import assert from "node:assert/strict";
import { assertPlainData } from "../../helpers/plain-data.ts";
import { assertSound, managerSearch } from "../lab/expect.ts";
import type { MemoryCheck } from "../lab/lab.ts";

/** What is promised where there is little or nothing to find. */
export const emptyAnswerChecks: readonly MemoryCheck[] = [
  {
    name: "search: each search gives one report, and an empty list says why",
    async run(lab) {
      await lab.write("memory/a.md", "The lighthouse keeper is called Ingrid.\n");
      const { manager, settle, ask } = await lab.open();
      await settle();
      for (const query of ["lighthouse keeper", "qzxvwkjpf"]) {
        let count = 0;
        await manager.search(query, managerSearch({ onDebug: () => count++ }));
        assert.equal(count, 1, `the manager gave ${count} reports for "${query}"`);
      }
      const { results, report } = await ask("lighthouse keeper");
      assert.equal(results.length, 1);
      assertSound(report);
      assertPlainData(report, "the report");
    },
  },
  {
    name: "search: an unknown word gives an empty list and a report that says so",
    async run(lab) {
      await lab.write("memory/a.md", "The lighthouse keeper is called Ingrid.\n");
      const { manager, settle, ask } = await lab.open();
      await settle();
      const { results, report } = await ask("qzxvwkjpf");
      assert.deepEqual(results, []);
      assertSound(report);
      assert.ok((report.reason ?? "").trim() !== "", "the report gives no reason");
      let own: string | undefined;
      await manager.search("qzxvwkjpf", managerSearch({ onDebug: ({ reason }) => (own = reason) }));
      assert.ok((own ?? "").trim() !== "", "the manager's own report gives no reason");
    },
  },
  {
    name: "search: an empty workspace gives an empty list",
    async run(lab) {
      const { settle, ask } = await lab.open();
      await settle();
      const { results, report } = await ask("anything at all");
      assert.deepEqual(results, []);
      assert.ok((report.reason ?? "").trim() !== "", "the report gives no reason");
    },
  },
  {
    name: "search: a blank query gives an empty list",
    async run(lab) {
      await lab.write("memory/a.md", "Something.\n");
      const { memory, settle } = await lab.open();
      await settle();
      for (const query of ["", " ", "\n\t ", "\u3000"]) assert.deepEqual(await memory.search(query), []);
    },
  },
];
