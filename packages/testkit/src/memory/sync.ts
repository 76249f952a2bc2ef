import assert from "node:assert/strict";
import { chmod, readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { MemoryProviderStatus, SyncProgress, SyncReport } from "@memslot/core";
import { assertDoesNotFind, assertFinds, pathsOf, settles } from "./lab/expect.ts";
import type { MemoryCheck, MemoryLab } from "./lab/lab.ts";

/** Added, changed, removed, unchanged and failed files. */
function countsOf(report: SyncReport | undefined): number[] {
  assert.ok(report !== undefined, "the sync gave no report");
  return [report.added, report.changed, report.removed, report.unchanged, report.failed.length];
}

/** Makes a file that nobody can take in, whoever runs the check, and says what is wrong with it. */
async function makeUnreadable(lab: MemoryLab, path: string): Promise<"unreadable" | "too large"> {
  const file = join(lab.workspaceDir, path);
  await writeFile(file, "The lynx cannot be read.\n");
  await chmod(file, 0o000);
  const readable = await readFile(file).then(
    () => true,
    () => false,
  );
  if (!readable) return "unreadable";
  // To an administrator, and on Windows, permissions say nothing. A file of 3 GiB without content is too much for all.
  await truncate(file, 3 * 2 ** 30);
  return "too large";
}

/** Why a file is not in the index, wherever that is said: a size over the limit may count as a choice, not as a failure. */
function reasonsFor(path: string, report: SyncReport | undefined, status: MemoryProviderStatus): string[] {
  const failed = report?.failed.filter((failure) => failure.path === path).map(({ reason }) => reason) ?? [];
  const skipped = status.roots?.filter((root) => root.path === path && root.state === "skipped") ?? [];
  return [...failed, ...skipped.map(({ reason }) => reason ?? "")];
}

/** What bringing the index up to date promises. */
export const syncChecks: readonly MemoryCheck[] = [
  {
    name: "sync: report counts what was added, changed, removed and left alone",
    needs: ["ownsIndex"],
    async run(lab) {
      for (const name of ["a", "b", "c"]) await lab.write(`memory/${name}.md`, `Note ${name}.\n`);
      const { settle } = await lab.open();
      assert.deepEqual(countsOf(await settle()), [3, 0, 0, 0, 0]);
      assert.deepEqual(countsOf(await settle()), [0, 0, 0, 3, 0]);
      await lab.write("memory/a.md", "Note a, second version.\n");
      await lab.write("memory/d.md", "Note d.\n");
      await lab.remove("memory/b.md");
      assert.deepEqual(countsOf(await settle()), [1, 1, 1, 1, 0]);
      assert.deepEqual(countsOf(await settle()), [0, 0, 0, 3, 0]);
    },
  },
  {
    name: "sync: a file that was only touched is unchanged",
    needs: ["ownsIndex"],
    async run(lab) {
      await lab.write("memory/a.md", "Note a.\n");
      const { settle } = await lab.open();
      await settle();
      await lab.write("memory/a.md", "Note a.\n");
      assert.deepEqual(countsOf(await settle()), [0, 0, 0, 1, 0]);
    },
  },
  {
    name: "sync: progress counts up to the total",
    needs: ["ownsIndex"],
    async run(lab) {
      for (let index = 0; index < 25; index++) await lab.write(`memory/${index}.md`, `Note ${index}.\n`);
      const { memory } = await lab.open();
      const updates: SyncProgress[] = [];
      await memory.sync({ progress: (update) => updates.push({ ...update }) });
      assert.ok(updates.length > 0, "there was no progress");
      for (const { completed, total } of updates)
        assert.ok(
          Number.isInteger(completed) && Number.isInteger(total) && completed >= 0 && completed <= total,
          `${completed} of ${total}`,
        );
      const last = updates.at(-1);
      assert.equal(last?.completed, last?.total);
    },
  },
  {
    name: "sync: a changed file answers with its new text only",
    async run(lab) {
      await lab.write("memory/a.md", "The key is under the flowerpot.\n");
      const opened = await lab.open();
      await opened.settle();
      await assertFinds(opened, "flowerpot", "memory/a.md");
      // As long as the old text, so that only the content and the time stamp tell them apart.
      await lab.write("memory/a.md", "The key is under the cobblestn.\n".slice(0, 32));
      await opened.settle();
      await assertFinds(opened, "cobblestn", "memory/a.md");
      const { results } = await opened.ask("flowerpot", { minScore: 0 });
      assert.ok(
        results.every(({ snippet }) => !snippet.includes("flowerpot")),
        "the old text is still shown",
      );
    },
  },
  {
    name: "sync: removes a deleted file",
    async run(lab) {
      await lab.write("memory/gone.md", "The badger lives under the shed.\n");
      await lab.write("memory/stays.md", "The hedgehog lives there too.\n");
      const opened = await lab.open();
      await opened.settle();
      await assertFinds(opened, "badger", "memory/gone.md");
      await lab.remove("memory/gone.md");
      await opened.settle();
      await assertDoesNotFind(opened, "badger", "memory/gone.md");
      await assertFinds(opened, "hedgehog", "memory/stays.md");
    },
  },
  {
    name: "sync: a renamed file answers under its new path only",
    async run(lab) {
      await lab.write("memory/old.md", "The badger lives under the shed.\n");
      const opened = await lab.open();
      await opened.settle();
      await assertFinds(opened, "badger", "memory/old.md");
      await lab.rename("memory/old.md", "memory/new/place.md");
      await opened.settle();
      const { results } = await opened.ask("badger", { minScore: 0 });
      assert.deepEqual(pathsOf(results), ["memory/new/place.md"]);
    },
  },
  {
    name: "sync: a file that cannot be read is reported and the rest is indexed",
    needs: ["ownsIndex"],
    async run(lab) {
      await lab.write("memory/a.md", "The badger lives under the shed.\n");
      await lab.write("memory/z.md", "The hedgehog lives there too.\n");
      const fault = await makeUnreadable(lab, "memory/m.md");
      const opened = await lab.open();
      const report = await opened.settle();
      const failed = report?.failed.map(({ path }) => path) ?? [];
      assert.ok(failed.length === 0 || failed.join() === "memory/m.md", `these failed: ${failed.join(", ")}`);
      if (fault === "unreadable") assert.equal(failed.length, 1, "a file that should be there and is not has failed");
      const reasons = reasonsFor("memory/m.md", report, opened.memory.status());
      assert.ok(reasons.length > 0, "it is passed over in silence");
      assert.ok(
        reasons.every((reason) => reason.trim() !== ""),
        "no reason is given",
      );
      assert.equal(report?.added, 2);
      await assertFinds(opened, "badger", "memory/a.md");
      await assertFinds(opened, "hedgehog", "memory/z.md");
    },
  },
  {
    name: "sync: force does every file again and answers the same",
    async run(lab) {
      for (let index = 0; index < 6; index++)
        await lab.write(`memory/${index}.md`, `The ferry leaves at ${index} past eight.\n`);
      const opened = await lab.open();
      await opened.settle();
      const before = (await opened.ask("ferry leaves")).results;
      const report = await opened.settle({ force: true });
      if (lab.capabilities.ownsIndex) assert.equal(report?.unchanged, 0);
      assert.deepEqual((await opened.ask("ferry leaves")).results, before);
    },
  },
  {
    name: "sync: with wait false it is done when nobody else is at work on the index",
    async run(lab) {
      await lab.write("memory/a.md", "The badger lives under the shed.\n");
      const opened = await lab.open();
      await opened.memory.sync({ wait: false });
      await opened.memory.sync({ wait: false, force: true });
      await opened.settle();
      await assertFinds(opened, "badger", "memory/a.md");
    },
  },
  {
    name: "sync: one that was aborted is finished by the next",
    async run(lab) {
      for (let index = 0; index < 150; index++)
        await lab.write(`memory/${index}.md`, `The ferry number${index} leaves at eight.\n`);
      const opened = await lab.open();
      const controller = new AbortController();
      const aborted = opened.memory.sync({
        signal: controller.signal,
        progress: ({ completed }) => completed > 0 && controller.abort(),
      });
      await settles("an aborted sync", aborted, lab.patienceMs);
      await opened.settle();
      for (const index of [0, 75, 149]) await assertFinds(opened, `number${index}`, `memory/${index}.md`);
      const { results } = await opened.ask("ferry leaves", { maxResults: 200, minScore: 0 });
      assert.equal(new Set(pathsOf(results)).size, results.length, "a file was indexed twice");
    },
  },
];
