import assert from "node:assert/strict";
import { resultTokens } from "@memslot/core";
import { setTimeout as sleep } from "node:timers/promises";
import { hostileStrings } from "../../helpers/hostile-strings.ts";
import { assertFinds, managerSearch, pathsOf } from "../lab/expect.ts";
import type { MemoryCheck, OpenedMemory } from "../lab/lab.ts";

/** What a search promises, whatever is asked. */
export const searchChecks: readonly MemoryCheck[] = [
  {
    name: "search: finds a line written after the last sync, once it is synced",
    async run(lab) {
      await lab.write("memory/2026-03-01.md", "# Sunday\n\nThe marmalade is in the cellar.\n");
      const opened = await lab.open();
      await opened.settle();
      await assertFinds(opened, "marmalade cellar", "memory/2026-03-01.md");
      await lab.write(
        "memory/2026-03-01.md",
        "# Sunday\n\nThe marmalade is in the cellar.\n\nThe accordion was lent to Yusuf.\n",
      );
      await opened.settle();
      const found = await assertFinds(opened, "accordion Yusuf", "memory/2026-03-01.md");
      assert.ok(found.snippet.includes("accordion"), found.snippet);
    },
  },
  {
    name: "search: with sync.onSearch, finds a line written after the last sync or says that it is stale",
    async run(lab) {
      await lab.write("memory/a.md", "The marmalade is in the cellar.\n");
      const opened = await lab.open({
        memorySearch: { sync: { onSearch: true, onSessionStart: false, watch: false } },
      });
      await assertSoonFinds(opened, "marmalade", "memory/a.md");
      await lab.write("memory/b.md", "The accordion was lent to Yusuf.\n");
      await assertSoonFinds(opened, "accordion", "memory/b.md");
    },
  },
  {
    name: "search: results are sorted and cut to maxResults",
    async run(lab) {
      for (let index = 0; index < 30; index++)
        await lab.write(`memory/${index}.md`, `The orchard report number ${index}.\n${"orchard ".repeat(index % 5)}\n`);
      const opened = await lab.open();
      await opened.settle();
      for (const maxResults of [1, 4, 20]) {
        const { results } = await opened.ask("orchard report", { maxResults, minScore: 0 });
        assert.equal(results.length, maxResults);
        const scores = results.map((result) => result.score);
        assert.deepEqual(
          scores,
          scores.toSorted((left, right) => right - left),
        );
      }
    },
  },
  {
    name: "search: the texts of all results are within maxTokens, whole, and stand where they say",
    async run(lab) {
      const files = new Map<string, string[]>();
      for (let note = 0; note < 12; note++) {
        const filler = Array.from({ length: 12 }, (_, line) => `- Nothing much of pier ${note} and line ${line}.`);
        const lines = [
          `# Harbour ${note}`,
          "",
          ...filler,
          `- The harbour pilot of pier ${note} has the code HX-${note}.`,
          "",
          ...filler,
        ];
        files.set(`memory/${note}.md`, lines);
        await lab.write(`memory/${note}.md`, `${lines.join("\n")}\n`);
      }
      const opened = await lab.open();
      await opened.settle();
      for (const maxTokens of [100, 300, 1000, 4000]) {
        const { results, report } = await opened.ask("harbour pilot code", { maxResults: 12, maxTokens, minScore: 0 });
        const tokens = results.reduce((sum, result) => sum + resultTokens(result), 0);
        assert.ok(results.length > 0);
        assert.ok(results.length === 1 || tokens <= maxTokens, `${tokens} tokens in an answer of ${maxTokens}`);
        if (maxTokens === 100)
          assert.ok((report.dropped.tokens ?? 0) + report.dropped.limit > 0, JSON.stringify(report));
        for (const { path, startLine, endLine, lines = [[startLine, endLine]], snippet } of results) {
          assert.ok(snippet.length <= 700);
          const file = files.get(path) ?? [];
          const said = lines.flatMap(([from, to]) => file.slice(from - 1, to)).filter((line) => line !== "");
          const shown = snippet.split("\n").filter((line) => line !== "" && line !== "…");
          // What is shown of more lines than the snippet holds begins with the first of them.
          assert.deepEqual(shown, said.slice(0, shown.length), `${path} ${JSON.stringify(lines)}`);
        }
      }
    },
  },
  {
    name: "search: scores are from 0 to 1 and tell a better result from a worse one",
    async run(lab) {
      await lab.write("memory/good.md", "The kestrel nesting box hangs on the north gable.\n");
      await lab.write(
        "memory/poor.md",
        `A kestrel was seen once. ${"Other things happened on that long day by the river. ".repeat(12)}\n`,
      );
      for (let index = 0; index < 5; index++)
        await lab.write(`memory/none-${index}.md`, `Groceries and errands, list ${index}.\n`);
      const opened = await lab.open();
      await opened.settle();
      const { results } = await opened.ask("kestrel nesting box", { minScore: 0 });
      assert.ok(
        results.every(({ score }) => score >= 0 && score <= 1),
        JSON.stringify(results.map(({ score }) => score)),
      );
      const good =
        results.find(({ path }) => path === "memory/good.md")?.score ?? assert.fail("the good file was not found");
      assert.equal(results[0]?.path, "memory/good.md");
      const poor = (await opened.ask("kestrel", { minScore: 0 })).results.find(({ path }) => path === "memory/poor.md");
      assert.ok(poor !== undefined, "the poor file was not found");
      const poorScore = results.find(({ path }) => path === "memory/poor.md")?.score ?? 0;
      assert.ok(poorScore < good, `the poor file has ${poorScore}, the good one ${good}`);
    },
  },
  {
    name: "search: filters by source inside",
    async run(lab) {
      for (let index = 0; index < 12; index++)
        await lab.write(`memory/${index}.md`, `The turbine was serviced, entry ${index}.\n`);
      const { manager, settle } = await lab.open();
      await settle();
      const some = await manager.search("turbine serviced", managerSearch({ minScore: 0 }));
      assert.ok(some.length > 0);
      assert.deepEqual([...new Set(some.map(({ source }) => source))], ["memory"]);
      const other = await manager.search(
        "turbine serviced",
        managerSearch({ sources: ["a source that holds nothing"], minScore: 0 }),
      );
      assert.deepEqual(pathsOf(other), [], "the manager gave results of a source that was not asked for");
    },
  },
  {
    name: "search: hostile query text raises nothing",
    async run(lab) {
      await lab.write("memory/a.md", "Plain words, 中文, 🙂 and a number 42.\n");
      const { memory, manager, settle } = await lab.open();
      await settle();
      for (const query of hostileStrings(140, 11)) {
        try {
          assert.ok(Array.isArray(await memory.search(query)));
        } catch (error) {
          assert.fail(`the query ${JSON.stringify(query.slice(0, 80))} raised ${String(error)}`);
        }
      }
      // Below the guard, where nobody cuts a query or answers a blank one.
      for (const query of ["*", "\0", "？！", "a".repeat(9999)]) {
        assert.ok(Array.isArray(await manager.search(query, managerSearch())));
      }
    },
  },
];

/** Asks until the file is found. An answer without it is right only as long as it says that it is not fresh. */
async function assertSoonFinds(opened: OpenedMemory, query: string, path: string): Promise<void> {
  for (let round = 0; round < 200; round++) {
    const { results, report } = await opened.ask(query);
    if (pathsOf(results).includes(path)) return;
    assert.equal(
      report.state,
      "stale",
      `"${query}" did not find ${path}, and the report says ${JSON.stringify(report)}`,
    );
    await sleep(100);
  }
  assert.fail(`"${query}" still does not find ${path}`);
}
