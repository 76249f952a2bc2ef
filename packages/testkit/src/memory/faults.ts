import assert from "node:assert/strict";
import { rename } from "node:fs/promises";
import { Socket } from "node:net";
import { MemoryError } from "@memslot/core";
import { assertPlainData } from "../helpers/plain-data.ts";
import { assertFinds } from "./lab/expect.ts";
import type { MemoryCheck } from "./lab/lab.ts";

/** What is promised when the ground moves. */
export const faultChecks: readonly MemoryCheck[] = [
  {
    name: "faults: a workspace that vanishes gives errors with a code, and nothing is forgotten when it comes back",
    async run(lab) {
      await lab.write("memory/a.md", "The badger lives under the shed.\n");
      const opened = await lab.open();
      await opened.settle();
      const away = `${lab.outsideDir}/away`;
      await rename(lab.workspaceDir, away);
      const { memory } = opened;
      const calls = [
        memory.search("badger"),
        memory.readFile({ relPath: "memory/a.md" }),
        memory.sync(),
        memory.probeVectorAvailability(),
      ];
      for (const outcome of await Promise.allSettled<unknown>(calls)) {
        if (outcome.status === "rejected")
          assert.ok(MemoryError.is(outcome.reason), `it gave ${String(outcome.reason)}`);
      }
      if (lab.capabilities.ownsIndex)
        await assert.rejects(memory.sync(), (error) => MemoryError.is(error, "WORKSPACE"));
      assertPlainData(memory.status(), "status");
      await rename(away, lab.workspaceDir);
      const report = await opened.settle();
      // A file that was asked for while it was gone may be read again.
      const there = (report?.unchanged ?? 0) + (report?.changed ?? 0);
      if (lab.capabilities.ownsIndex) assert.deepEqual([report?.removed, report?.added, there], [0, 0, 1]);
      await assertFinds(opened, "badger", "memory/a.md");
    },
  },
  {
    name: "faults: a file that vanishes between sync and search breaks nothing",
    async run(lab) {
      await lab.write("memory/a.md", "The badger lives under the shed.\n");
      await lab.write("memory/b.md", "A badger was seen at dusk.\n");
      const opened = await lab.open();
      await opened.settle();
      await lab.remove("memory/a.md");
      await assertFinds(opened, "badger", "memory/b.md");
      assert.equal((await opened.memory.readFile({ relPath: "memory/a.md" })).status, "not_found");
    },
  },
  {
    name: "faults: while no server can be reached each call answers or is UNAVAILABLE",
    async run(lab) {
      await lab.write("memory/a.md", "The badger lives under the shed.\n");
      const opened = await lab.open();
      await opened.settle();
      const { memory } = opened;
      const { connect } = Socket.prototype;
      const refused = { code: "ECONNREFUSED", syscall: "connect" };
      Socket.prototype.connect = function refuse() {
        return this.destroy(Object.assign(new Error("connect ECONNREFUSED"), refused));
      };
      try {
        const calls = [memory.search("badger"), memory.readFile({ relPath: "memory/a.md" }), memory.sync()];
        for (const outcome of await Promise.allSettled<unknown>(calls)) {
          const isRight = outcome.status === "fulfilled" || MemoryError.is(outcome.reason, "UNAVAILABLE");
          assert.ok(isRight, `it gave ${outcome.status === "rejected" && String(outcome.reason)}`);
        }
      } finally {
        Socket.prototype.connect = connect;
      }
      await assertFinds(opened, "badger", "memory/a.md");
    },
  },
  {
    name: "faults: a search while a sync runs finds what was there before",
    async run(lab) {
      await lab.write("memory/a.md", "The badger lives under the shed.\n");
      const opened = await lab.open();
      await opened.settle();
      for (let index = 0; index < 60; index++)
        await lab.write(`memory/more/${index}.md`, `Groceries of the day, list ${index}.\n`);
      const asking = async (): Promise<void> => {
        for (let round = 0; round < 10; round++) await assertFinds(opened, "badger", "memory/a.md");
      };
      await Promise.all([opened.settle(), asking()]);
      await assertFinds(opened, "badger", "memory/a.md");
    },
  },
  {
    name: "faults: a file that turns into a folder and back is followed",
    async run(lab) {
      await lab.write("memory/a.md", "The badger lives under the shed.\n");
      const opened = await lab.open();
      await opened.settle();
      await lab.remove("memory/a.md");
      await lab.write("memory/a.md/inner.md", "The hedgehog lives inside.\n");
      await opened.settle();
      await assertFinds(opened, "hedgehog", "memory/a.md/inner.md");
      await lab.remove("memory/a.md/inner.md");
      await rename(`${lab.workspaceDir}/memory/a.md`, `${lab.outsideDir}/folder`);
      await lab.write("memory/a.md", "The badger is back.\n");
      await opened.settle();
      await assertFinds(opened, "badger", "memory/a.md");
    },
  },
];
