import assert from "node:assert/strict";
import { chmod, readFile, rename, truncate, utimes, writeFile } from "node:fs/promises";
import { Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { MemoryError, type SyncProgress, type SyncReport } from "@memslot/core";
import { assertPlainData } from "../helpers/assert-plain-data.ts";
import { type MemoryCheck, type MemoryLab, type OpenedMemory, numbered, settles } from "./memory-test-environment.ts";

interface Change {
  id: string;
  promise: string;
  change(lab: MemoryLab): Promise<void>;
  /** The paths that each word finds afterwards. */
  finds: Readonly<Record<string, readonly string[]>>;
}

const cliff = { "memory/a.md": "The puffin is on the cliff.\n" };
const island = { "memory/b.md": "The puffin has moved to the island.\n" };

const changes: readonly Change[] = [
  {
    id: "saved",
    promise: "a saved note is found",
    change: (lab) => lab.write({ "memory/c.md": "The puffin has a nest.\n" }),
    finds: { puffin: ["memory/a.md", "memory/b.md", "memory/c.md"] },
  },
  {
    id: "changed",
    promise: "a changed note is found by its new words only",
    // As long as before: only the content and the time stamp differ.
    change: (lab) => lab.write({ "memory/a.md": "The gannet is on the cliff.\n" }),
    finds: { gannet: ["memory/a.md"], puffin: ["memory/b.md"] },
  },
  {
    id: "deleted",
    promise: "a deleted note is not found",
    change: (lab) => lab.remove("memory/a.md"),
    finds: { puffin: ["memory/b.md"] },
  },
  {
    id: "renamed",
    promise: "a renamed note is found under its new name only",
    change: (lab) => lab.rename("memory/a.md", "memory/deep/renamed.md"),
    finds: { puffin: ["memory/b.md", "memory/deep/renamed.md"] },
  },
  {
    id: "swapped",
    promise: "two notes of the same size and time that swap names are found by their own words",
    async change(lab) {
      await lab.rename("memory/same-1.md", "memory/aside");
      await lab.rename("memory/same-2.md", "memory/same-1.md");
      await lab.rename("memory/aside", "memory/same-2.md");
    },
    finds: { cormorant: ["memory/same-2.md"], guillemot: ["memory/same-1.md"] },
  },
];

async function writeBefore(lab: MemoryLab): Promise<void> {
  const same = { "memory/same-1.md": "One cormorant dives.\n", "memory/same-2.md": "One guillemot dives.\n" };
  await lab.write({ ...cliff, ...island, ...same });
  const day = new Date(2024, 4, 5);
  for (const path of Object.keys(same)) await utimes(join(lab.workspaceDir, path), day, day);
}

/** Results that show the word, from the first answer that is not `stale`. */
async function freshPaths(opened: OpenedMemory, word: string): Promise<string[]> {
  for (let round = 0; round < 300; round++) {
    const { results, report } = await opened.ask(word, { maxResults: 50, minScore: 0 });
    const showing = results.filter(({ snippet }) => snippet.includes(word));
    if (report.state !== "stale") return showing.map(({ path }) => path).toSorted();
    await sleep(100);
  }
  return assert.fail(`every answer to "${word}" is stale`);
}

const onSearch = { sync: { onSearch: true, onSessionStart: false, watch: false } };

/** The same changes, seen by a sync and by the next search. */
const changeChecks = changes.flatMap(({ id, promise, change, finds }): MemoryCheck[] => [
  ...(id === "swapped"
    ? []
    : [
        {
          id: `sync.${id}`,
          promise: `after a sync ${promise}`,
          async run(lab: MemoryLab) {
            await writeBefore(lab);
            const opened = await lab.openWith({});
            assert.deepEqual(await freshPaths(opened, "puffin"), ["memory/a.md", "memory/b.md"]);
            await change(lab);
            await opened.settle();
            for (const [word, paths] of Object.entries(finds)) assert.deepEqual(await freshPaths(opened, word), paths);
          },
        },
      ]),
  {
    id: `fresh.${id}`,
    promise: `with sync.onSearch, ${promise} by the next search that does not report itself as stale`,
    async run(lab) {
      await writeBefore(lab);
      const opened = await lab.open({ memorySearch: onSearch });
      assert.deepEqual(await freshPaths(opened, "puffin"), ["memory/a.md", "memory/b.md"]);
      await change(lab);
      for (const [word, paths] of Object.entries(finds)) assert.deepEqual(await freshPaths(opened, word), paths);
    },
  },
]);

/** Added, changed, removed, unchanged and failed files. */
function countsOf(report: SyncReport | undefined): number[] {
  assert.ok(report !== undefined, "the sync gave no report");
  return [report.added, report.changed, report.removed, report.unchanged, report.failed.length];
}

/** Makes a file that cannot be indexed, also by an administrator. */
async function makeUnreadable(lab: MemoryLab, path: string): Promise<"unreadable" | "too large"> {
  const file = join(lab.workspaceDir, path);
  await writeFile(file, "The lynx cannot be read.\n");
  await chmod(file, 0o000);
  const isReadable = await readFile(file).then(
    () => true,
    () => false,
  );
  if (!isReadable) return "unreadable";
  // Permissions do not stop an administrator, nor any user on Windows. A sparse file of 3 GiB is too large for every user.
  await truncate(file, 3 * 2 ** 30);
  return "too large";
}

const badger = { "memory/a.md": "The badger lives under the shed.\n" };
const three = numbered(3, (index) => `Note ${index}.\n`);

/** What a sync reports, and how it ends. */
const syncChecks: readonly MemoryCheck[] = [
  {
    id: "sync.counts",
    promise: "the report counts added, changed, removed and unchanged files; a file that was only touched is unchanged",
    needs: ["ownsIndex"],
    async run(lab) {
      const opened = await lab.open();
      await lab.write(three);
      assert.deepEqual(countsOf(await opened.settle()), [3, 0, 0, 0, 0]);
      assert.deepEqual(countsOf(await opened.settle()), [0, 0, 0, 3, 0]);
      await lab.write({ "memory/0.md": "Note 0, second version.\n", "memory/new.md": "Note d.\n" });
      await lab.remove("memory/1.md");
      assert.deepEqual(countsOf(await opened.settle()), [1, 1, 1, 1, 0]);
      await lab.write({ "memory/2.md": "Note 2.\n" });
      assert.deepEqual(countsOf(await opened.settle()), [0, 0, 0, 3, 0], "touched");
    },
  },
  {
    id: "sync.progress",
    promise: "progress counts up to the total",
    needs: ["ownsIndex"],
    async run(lab) {
      await lab.write(numbered(25, (index) => `Note ${index}.\n`));
      const { memory } = await lab.open();
      const updates: SyncProgress[] = [];
      await memory.sync({ progress: (update) => updates.push({ ...update }) });
      for (const { completed, total } of updates)
        assert.ok(Number.isInteger(completed) && 0 <= completed && completed <= total, `${completed} of ${total}`);
      const last = updates.at(-1) ?? assert.fail("there was no progress");
      assert.equal(last.completed, last.total);
    },
  },
  {
    id: "sync.unreadable",
    promise: "an unreadable file is reported, and the rest is indexed",
    needs: ["ownsIndex"],
    async run(lab) {
      await lab.write({ ...badger, "memory/z.md": "The hedgehog lives there too.\n" });
      const path = "memory/m.md";
      const fault = await makeUnreadable(lab, path);
      const opened = await lab.open();
      const report = await opened.settle();
      const failed = report?.failed ?? [];
      assert.deepEqual(
        failed.filter((each) => each.path !== path),
        [],
      );
      if (fault === "unreadable") assert.equal(failed.length, 1, "a file that should be indexed and is not has failed");
      // A size over the limit may count as a choice, not as a failure.
      const skipped =
        opened.memory.status().roots?.filter((root) => root.path === path && root.state === "skipped") ?? [];
      const reasons = [...failed, ...skipped].map(({ reason }) => reason ?? "");
      assert.ok(
        reasons.length > 0 && reasons.every((reason) => reason.trim() !== ""),
        "it is skipped without a reason",
      );
      assert.equal(report?.added, 2);
      await opened.finds("badger", "memory/a.md");
      await opened.finds("hedgehog", "memory/z.md");
    },
  },
  {
    id: "sync.force",
    promise: "force indexes every file again and gives the same answers",
    async run(lab) {
      const opened = await lab.openWith(numbered(6, (index) => `The ferry leaves at ${index} past eight.\n`));
      const before = (await opened.ask("ferry leaves")).results;
      const report = await opened.settle({ force: true });
      if (lab.capabilities.ownsIndex) assert.equal(report?.unchanged, 0);
      assert.deepEqual((await opened.ask("ferry leaves")).results, before);
    },
  },
  {
    id: "sync.no-wait",
    promise: "with wait false it runs if no other process is writing to the index",
    async run(lab) {
      await lab.write(badger);
      const opened = await lab.open();
      for (const force of [false, true]) await opened.memory.sync({ wait: false, force });
      await opened.settle();
      await opened.finds("badger", "memory/a.md");
    },
  },
  {
    id: "sync.abort",
    promise: "the next sync completes an aborted one",
    async run(lab) {
      await lab.write(numbered(150, (index) => `The ferry number${index} leaves at eight.\n`));
      const opened = await lab.open();
      const controller = new AbortController();
      const progress = ({ completed }: SyncProgress): void => void (completed > 0 && controller.abort());
      await settles("an aborted sync", opened.memory.sync({ signal: controller.signal, progress }), lab.patienceMs);
      await opened.settle();
      for (const index of [0, 75, 149]) await opened.finds(`number${index}`, `memory/${index}.md`);
      const { results } = await opened.ask("ferry leaves", { maxResults: 200, minScore: 0 });
      assert.equal(new Set(results.map(({ path }) => path)).size, results.length, "a file was indexed twice");
    },
  },
  {
    id: "sync.searches",
    promise: "searches during a sync find what was indexed before",
    async run(lab) {
      const opened = await lab.openWith(badger);
      await lab.write(numbered(60, (index) => `Groceries of the day, list ${index}.\n`, "memory/more"));
      const asking = async (): Promise<void> => {
        for (let round = 0; round < 10; round++) await opened.finds("badger", "memory/a.md");
      };
      await Promise.all([opened.settle(), asking()]);
      await asking();
    },
  },
  {
    id: "sync.file-to-folder",
    promise: "a file that becomes a folder, and a file again, is followed",
    async run(lab) {
      const opened = await lab.openWith(badger);
      await lab.remove("memory/a.md");
      await lab.write({ "memory/a.md/inner.md": "The hedgehog lives inside.\n" });
      await opened.settle();
      await opened.finds("hedgehog", "memory/a.md/inner.md");
      await rename(join(lab.workspaceDir, "memory/a.md"), join(lab.outsideDir, "folder"));
      await lab.write({ "memory/a.md": "The badger is back.\n" });
      await opened.settle();
      await opened.finds("badger", "memory/a.md");
    },
  },
];

/** Behaviour while the workspace or a server is unavailable. */
const faultChecks: readonly MemoryCheck[] = [
  {
    id: "faults.workspace-gone",
    promise: "without its workspace a call fails with a code, and the index is kept for when it is back",
    async run(lab) {
      const opened = await lab.openWith(badger);
      const { memory } = opened;
      const away = join(lab.outsideDir, "away");
      await rename(lab.workspaceDir, away);
      const read = memory.readFile({ relPath: "memory/a.md" });
      const calls = [memory.search("badger"), read, memory.sync(), memory.probeVectorAvailability()];
      for (const outcome of await Promise.allSettled<unknown>(calls))
        assert.ok(outcome.status === "fulfilled" || MemoryError.is(outcome.reason), JSON.stringify(outcome));
      if (lab.capabilities.ownsIndex)
        await assert.rejects(memory.sync(), (error) => MemoryError.is(error, "WORKSPACE"));
      assertPlainData(memory.status(), "status");
      await rename(away, lab.workspaceDir);
      const [added, changed = 0, removed, unchanged = 0] = countsOf(
        (await opened.settle()) ?? { added: 0, changed: 0, removed: 0, unchanged: 1, failed: [] },
      );
      // A file that was requested while it was gone may be indexed again.
      if (lab.capabilities.ownsIndex) assert.deepEqual([added, removed, changed + unchanged], [0, 0, 1]);
      await opened.finds("badger", "memory/a.md");
    },
  },
  {
    id: "faults.file-gone",
    promise: "a file that is deleted between a sync and a search breaks no call",
    async run(lab) {
      const opened = await lab.openWith({ ...badger, "memory/b.md": "A badger was seen at dusk.\n" });
      await lab.remove("memory/a.md");
      await opened.finds("badger", "memory/b.md");
      assert.equal((await opened.read("memory/a.md")).status, "not_found");
    },
  },
  {
    id: "faults.no-network",
    promise: "without a network each call answers or is UNAVAILABLE",
    async run(lab) {
      const opened = await lab.openWith(badger);
      const { memory } = opened;
      const { connect } = Socket.prototype;
      Socket.prototype.connect = function refuse() {
        const refused = { code: "ECONNREFUSED", syscall: "connect" };
        return this.destroy(Object.assign(new Error("connect ECONNREFUSED"), refused));
      };
      try {
        const calls = [memory.search("badger"), memory.readFile({ relPath: "memory/a.md" }), memory.sync()];
        for (const outcome of await Promise.allSettled<unknown>(calls))
          assert.ok(
            outcome.status === "fulfilled" || MemoryError.is(outcome.reason, "UNAVAILABLE"),
            `it gave ${outcome.status === "rejected" && String(outcome.reason)}`,
          );
      } finally {
        Socket.prototype.connect = connect;
      }
      await opened.finds("badger", "memory/a.md");
    },
  },
];

export const updateChecks: readonly MemoryCheck[] = [...changeChecks, ...syncChecks, ...faultChecks];
