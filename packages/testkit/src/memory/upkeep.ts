import assert from "node:assert/strict";
import type { IndexCheck } from "@memslot/core";
import { deterministicEmbeddings } from "../deterministic-embeddings.ts";
import { assertPlainData } from "../helpers/plain-data.ts";
import { assertDoesNotFind, assertFinds, pathsOf } from "./lab/expect.ts";
import type { MemoryCheck, MemoryLab, OpenedMemory } from "./lab/lab.ts";
import { settleVectors } from "./lab/notes.ts";

const noCheck = "the manager does not check its index";
const noCompact = "the manager has no space to give back";

/** An index that has lived: notes came, changed, were renamed and went, with their vectors. */
async function openLived(lab: MemoryLab): Promise<OpenedMemory> {
  for (let index = 0; index < 30; index++)
    await lab.write(
      `memory/${index}.md`,
      `# Day ${index}\n\nThe ledger of day${index} was closed by the bookkeeper.\n`,
    );
  const opened = await lab.open({ embeddings: deterministicEmbeddings() });
  await settleVectors(opened);
  for (let index = 0; index < 10; index++) await lab.remove(`memory/${index}.md`);
  await lab.write("memory/10.md", "# Day 10\n\nThe ledger of day10 was opened again by the auditor.\n");
  await lab.write("memory/empty.md", "");
  await lab.rename("memory/11.md", "memory/renamed.md");
  await settleVectors(opened);
  return opened;
}

function assertSoundIndex(check: IndexCheck): void {
  assertPlainData(check, "check");
  for (const { name, ok, message } of check.findings) {
    assert.ok(name !== "" && message !== "", "a finding has a name and says what was looked at");
    assert.ok(ok, `${name}: ${message}`);
  }
  assert.equal(check.ok, true);
  assert.notEqual(check.findings.length, 0, "an index is called sound that nobody has looked at");
}

/** Everything about one word, apart from scores that a change of others may move. */
async function placesOf(opened: OpenedMemory): Promise<string[]> {
  const { results } = await opened.ask("ledger", { maxResults: 100, minScore: 0 });
  return results
    .map(({ path, startLine, endLine, snippet }) => `${path}:${startLine}-${endLine} ${snippet}`)
    .toSorted();
}

/** What a manager does for the health of its index, where it says that it does. */
export const upkeepChecks: readonly MemoryCheck[] = [
  {
    name: "check: an index that was synced is sound, and every finding says what was looked at",
    async run(lab) {
      const { memory } = await openLived(lab);
      const check = await memory.check();
      if (check === undefined) return noCheck;
      assertSoundIndex(check);
      return undefined;
    },
  },
  {
    name: "check: with fix there is nothing to mend in a sound index, and the answers stay as they were",
    async run(lab) {
      const opened = await openLived(lab);
      const before = await placesOf(opened);
      const check = await opened.memory.check({ fix: true });
      if (check === undefined) return noCheck;
      assertSoundIndex(check);
      assert.deepEqual(
        check.findings.filter(({ fixed }) => fixed !== undefined),
        [],
      );
      assert.deepEqual(await placesOf(opened), before);
      return undefined;
    },
  },
  {
    name: "check: sends nothing to the embedding provider",
    async run(lab) {
      const embeddings = deterministicEmbeddings();
      await lab.write("memory/a.md", "The ledger was closed.\n");
      const opened = await lab.open({ embeddings });
      await settleVectors(opened);
      await lab.write("memory/b.md", "The ledger was opened again.\n");
      const before = embeddings.calls();
      if ((await opened.memory.check({ fix: true })) === undefined) return noCheck;
      assert.deepEqual(embeddings.calls(), before);
      return undefined;
    },
  },
  {
    name: "compact: says what it brought, and the answers stay as they were",
    async run(lab) {
      const opened = await openLived(lab);
      const before = await placesOf(opened);
      const report = await opened.memory.compact();
      if (report === undefined) return noCompact;
      assert.ok(report.afterBytes <= report.beforeBytes, `${report.beforeBytes} to ${report.afterBytes}`);
      assert.deepEqual(await placesOf(opened), before);
      return undefined;
    },
  },
  {
    name: "compact: the index is fit for use afterwards, also when a search comes meanwhile",
    async run(lab) {
      const opened = await openLived(lab);
      const [report, { results }] = await Promise.all([opened.memory.compact(), opened.ask("auditor")]);
      if (report === undefined) return noCompact;
      assert.deepEqual(pathsOf(results), ["memory/10.md"]);
      await lab.remove("memory/10.md");
      await lab.write("memory/new.md", "The ledger has a new cover.\n");
      await opened.settle();
      await assertFinds(opened, "cover", "memory/new.md");
      await assertDoesNotFind(opened, "auditor", "memory/10.md");
      const check = await opened.memory.check();
      if (check !== undefined) assertSoundIndex(check);
      return undefined;
    },
  },
];
