import { existsSync } from "node:fs";
import { isMainThread, threadId } from "node:worker_threads";
import { expect, test } from "vitest";
import { fileOf, open, tempPath } from "../test/ledgers.ts";
import { openThread } from "./open-thread.ts";

const options = { store: "one", cacheMaxEntries: 50_000 };

/** The thread in which a companion was made: it says so when it is opened. */
function whereOpened(path: string, oneShot: boolean): Promise<number> {
  const companion = { module: new URL("./test/telling-companion.ts", import.meta.url).href, settings: {} };
  return openThread({ ...options, path, oneShot, companion }).then(
    async ({ client }) => {
      await client.close();
      throw new Error("the companion was not asked");
    },
    (error: Error) => Number(/thread (\d+)/u.exec(error.message)?.[1] ?? Number.NaN),
  );
}

test("one question to a ledger that is there starts no thread; a first index and a lasting host have one", async () => {
  const path = tempPath();
  expect(await whereOpened(path, true)).not.toBe(threadId);
  await (await open(path)).close();
  expect(existsSync(path)).toBe(true);
  expect(await whereOpened(path, true)).toBe(threadId);
  expect(await whereOpened(path, false)).not.toBe(threadId);
  expect(isMainThread).toBe(threadId === 0);
});

test("in the caller's thread it answers what it answers in its own, and takes and gives copies", async () => {
  const path = tempPath();
  const lasting = await open(path);
  const file = fileOf("a.md", ["one", "two"]);
  await lasting.replaceFiles([file]);
  const brief = await open(path, { oneShot: true });
  expect(await brief.listFiles()).toEqual(await lasting.listFiles());
  expect(brief.health()).toEqual(lasting.health());

  const added = fileOf("b.md", ["three"]);
  const writing = brief.replaceFiles([added]);
  // As it was when it was given, whatever becomes of it meanwhile.
  (added as { path: string }).path = "other.md";
  await writing;
  const [first] = await brief.listFiles();
  (first as { path: string }).path = "changed.md";
  expect((await brief.listFiles()).map(({ path: name }) => name).toSorted()).toEqual(["a.md", "b.md"]);
  expect(await lasting.listFiles()).toEqual(await brief.listFiles());
});

test("after its end it answers CLOSED, and a wrong call fails with the same code as in its own thread", async () => {
  const path = tempPath();
  const lasting = await open(path);
  const brief = await open(path, { oneShot: true });
  const failures = await Promise.all(
    [lasting, brief].map((ledger) => ledger.finishBuild().catch((error: { code?: string; message: string }) => error)),
  );
  expect(failures.map((error) => (error as { code?: string }).code)).toEqual([expect.any(String), expect.any(String)]);
  expect((failures[0] as Error).message).toBe((failures[1] as Error).message);
  await brief.close();
  await brief.close();
  await expect(brief.listFiles()).rejects.toMatchObject({ code: "CLOSED" });
  expect(await lasting.listFiles()).toEqual([]);
});

test("opening that was called off opens nothing", async () => {
  const path = tempPath();
  await (await open(path)).close();
  await expect(openThread({ ...options, path, oneShot: true, signal: AbortSignal.abort() })).rejects.toThrow(
    /aborted/u,
  );
});
