import { expect, test } from "vitest";
import { never, syncParams } from "../../test/support/context.ts";
import { createFakeSource } from "../../test/support/fake-source.ts";
import { createFakeStore } from "../../test/support/fake-store.ts";
import { listen } from "../test/listen.ts";
import { createIndexSync } from "./index-sync.ts";

const names = { agentId: "main", backend: "fake" };

test("each look that an index takes by itself is told once; what an application asks for is told by the guard", async () => {
  const seen = listen("sync");
  const store = createFakeStore();
  const source = createFakeSource({ "a.md": "alpha", "b.md": "beta" });
  const index = await createIndexSync({ store, sources: [source], onSearch: true, vectors: undefined, names });
  await index.sync(syncParams({ reason: "application" }));
  expect(seen).toEqual([]);
  await index.freshen(never);
  store.leaseHeldByOther("files", { pid: 1 });
  source.write("a.md", "gamma");
  await index.look("watch");
  store.leaseHeldByOther("files", undefined);
  store.fail("replaceFiles", () => new Error("WORDOFNOTE"));
  await index.look("interval");
  await index.close();
  const told = { ...names, force: false, tookMs: expect.any(Number) };
  const none = { added: 0, changed: 0, removed: 0, failed: 0 };
  expect(seen).toEqual([
    { ...told, reason: "search", ...none, unchanged: 2, outcome: "ok" },
    { ...told, reason: "watch", outcome: "failed", errorCode: "BUSY" },
    { ...told, reason: "interval", outcome: "failed", errorCode: "UNKNOWN" },
  ]);
});
