import { describe, expect, onTestFinished, test, vi } from "vitest";
import { noCompanion } from "../store-search-tables.ts";
import type { OpenedStore, openDatabaseStore } from "../database-store.ts";
import { openReopeningStore } from "./reopening-store.ts";
import type { OpenOptions, Request } from "./thread-messages.ts";
import { StoreFailure } from "./remote-calls.ts";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { Worker, isMainThread, threadId } from "node:worker_threads";
import { fileOf, open, tempPath } from "../test/ledgers.ts";
import { openThread } from "../open-ledger.ts";
import { join } from "node:path";
import { MemoryError } from "@memslot/core";
import { EventEmitter } from "node:events";
import { type LedgerThread, type WorkerClient, clientOf } from "./worker-client.ts";
import { tempFolder } from "@memslot/test-tools/files";

import data from "./test/thread.json" with { type: "json" };

async function failureOf(work: Promise<unknown>): Promise<MemoryError> {
  const error = await work.catch((reason: unknown) => reason);
  if (!MemoryError.is(error)) throw new Error(`not a MemoryError: ${String(error)}`);
  return error;
}

describe("a store that is opened again", () => {
  /** A store that with configurable faults, instead of the one on disk. */
  type Failing = { options: OpenOptions; openOnce: typeof openDatabaseStore; opened(): number };
  function failing(error: Error, failures: number, { isEmpty = false } = {}): Failing {
    let opened = 0;
    let left = failures;
    const options = data.options;
    const store = {
      identity: "1:1",
      methods: [],
      searches: new Set(["spaces"]),
      settle: async () => undefined,
      holds: () => !isEmpty,
      health: () => ({ location: options.path, fts: {}, vector: {}, notices: [] }),
      spaces() {
        if (left-- > 0) throw new StoreFailure("UNAVAILABLE", "it failed", { cause: error });
        return "answer";
      },
      close: () => undefined,
    };
    return { options, openOnce: () => (opened++, store as unknown as OpenedStore), opened: () => opened };
  }

  function sqliteError(code: string): Error {
    return Object.assign(new Error(`simulated ${code}`), { code });
  }

  test("a database that can no longer be written is opened again, and the call made once more", async () => {
    const once = failing(sqliteError("SQLITE_READONLY_DBMOVED"), 1);
    const store = await openReopeningStore(once.options, noCompanion, once.openOnce);
    expect(await store.call("spaces", [])).toBe("answer");
    expect(once.opened()).toBe(2);
    const twice = failing(sqliteError("SQLITE_READONLY"), 2);
    const other = await openReopeningStore(twice.options, noCompanion, twice.openOnce);
    await expect(other.call("spaces", [])).rejects.toThrow("it failed");
    expect(twice.opened()).toBe(2);
  });

  test("a disk that damages what is written to it is not retried for ever, and other failures are reported unchanged", async () => {
    const damaged = failing(sqliteError("SQLITE_CORRUPT"), 100);
    const store = await openReopeningStore(damaged.options, noCompanion, damaged.openOnce);
    for (let call = 0; call < 10; call++) await expect(store.call("spaces", [])).rejects.toThrow("it failed");
    expect(damaged.opened()).toBe(4);
    const full = failing(sqliteError("SQLITE_FULL"), 1);
    const other = await openReopeningStore(full.options, noCompanion, full.openOnce);
    await expect(other.call("spaces", [])).rejects.toThrow("it failed");
    expect(full.opened()).toBe(1);
    const first = failing(sqliteError("SQLITE_FULL"), 1, { isEmpty: true });
    expect(await (await openReopeningStore(first.options, noCompanion, first.openOnce)).call("spaces", [])).toBe(
      "answer",
    );
    expect(first.opened()).toBe(2);
  });
});

async function openTelling(path: string, oneShot = false): Promise<WorkerClient> {
  const companion = { module: new URL("./test/telling-companion.ts", import.meta.url).href, settings: {} };
  const { client } = await openThread({ store: "one", cacheMaxEntries: 50_000, path, oneShot, companion });
  onTestFinished(() => client.close());
  return client;
}

describe("the thread of a ledger", () => {
  async function whereOpened(path: string, oneShot: boolean): Promise<unknown> {
    const client = await openTelling(path, oneShot);
    const where = await client.call("thread", []);
    await client.close();
    return where;
  }

  test("one question to a ledger that is there starts no thread; a first index and a lasting host have one", async () => {
    const path = tempPath();
    expect(await whereOpened(path, true)).not.toBe(threadId);
    expect(existsSync(path)).toBe(true);
    expect(await whereOpened(path, true)).toBe(threadId);
    expect(await whereOpened(path, false)).not.toBe(threadId);
    expect(isMainThread).toBe(threadId === 0);
  });

  test("in the caller's thread it answers what it answers in its own, and takes and gives copies", async () => {
    const path = tempPath();
    const lasting = await open(path);
    await lasting.replaceFiles([fileOf("a.md", ["one", "two"])]);
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
    expect(await lasting.revision(), "known from the answer before").toBe(await brief.revision({ fresh: true }));
  });

  test("after its end it answers CLOSED, and a wrong call fails with the same code as in its own thread", async () => {
    const path = tempPath();
    const lasting = await open(path);
    const brief = await open(path, { oneShot: true });
    const [own, here] = await Promise.all([lasting, brief].map((ledger) => failureOf(ledger.finishBuild())));
    expect(own?.code).toBe("INVALID_ARGUMENT");
    expect(here).toEqual(own);
    await brief.close();
    await brief.close();
    await expect(brief.listFiles()).rejects.toMatchObject({ code: "CLOSED" });
    expect(await lasting.listFiles()).toEqual([]);
  });
});

describe("threads that ledgers share", () => {
  const file = fileOf("a.md", ["one", "two"]);
  const shared = Math.min(4, availableParallelism());

  /** So many ledgers, each with a file of its own, and the threads that they are in. */
  async function openMany(count: number): Promise<{ clients: WorkerClient[]; threads(): Promise<unknown[]> }> {
    const clients = await Promise.all(Array.from({ length: count }, () => openTelling(tempPath())));
    await Promise.all(clients.map((client) => client.call("replaceFiles", [[file]])));
    return { clients, threads: () => Promise.all(clients.map((client) => client.call("thread", []))) };
  }

  test("many ledgers have as many threads as there are cores, and at most four", async () => {
    const { threads } = await openMany(12);
    expect(new Set(await threads()).size).toBe(shared);
  });

  test("many that are closed at once are closed one after the other", async () => {
    const { clients } = await openMany(6 * shared);
    for (const client of clients) client.call("block", [500]).catch(() => undefined);
    const paths = clients.map((client) => client.health()?.location ?? "");
    await Promise.all(clients.map((client) => client.close()));
    expect(paths.filter((file) => existsSync(`${file}-wal`))).toEqual([]);
  });

  test("a ledger that stops its thread takes no other with it: what was asked of them is answered elsewhere", async () => {
    const { clients, threads } = await openMany(2 * shared + 1);
    const where = await threads();
    const [fatal, ...others] = clients.filter((_, index) => where[index] === where[0]);
    const revision = await others[0]?.call("revision", []);
    const ended = fatal?.call("exit", []);
    const files = others.map((other) => other.call("listFiles", []));
    await expect(ended).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect(fatal?.call("listFiles", [])).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(await Promise.all(files)).toEqual(others.map(() => [expect.objectContaining({ path: "a.md" })]));
    expect(await others[0]?.call("revision", []), "it may have been written to while it was open nowhere").not.toBe(
      revision,
    );
    for (const other of others) expect(await other.call("thread", [])).not.toBe(where[0]);
  });

  test("a ledger that is in memory loses what it has with its thread, and says so; one in a file loses nothing", async () => {
    const path = join(tempFolder(), "main.sqlite");
    writeFileSync(path, "notes of another program\n".repeat(20));
    const inMemory = await openTelling(path);
    const { clients, threads } = await openMany(2 * shared);
    const where = await threads();
    const here = await inMemory.call("thread", []);
    const [fatal, other] = clients.filter((_, index) => where[index] === here);
    await inMemory.call("replaceFiles", [[file]]);
    await expect(fatal?.call("exit", [])).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(await inMemory.call("listFiles", [])).toEqual([]);
    expect(await other?.call("listFiles", [])).toHaveLength(1);
    expect([inMemory.health()?.remade, other?.health()?.remade]).toEqual([1, undefined]);
  });

  test("ledgers that a call of another holds up are served by another thread, and what was asked is done once", async () => {
    const { clients, threads } = await openMany(2 * shared + 1);
    const where = await threads();
    const [slow, other] = clients.filter((_, index) => where[index] === where[0]);
    const blocked = slow?.call("block", [60_000]);
    await other?.call("replaceFiles", [[fileOf("b.md", ["three"])]]);
    expect(await other?.call("listFiles", [])).toHaveLength(2);
    expect(await other?.call("thread", [])).not.toBe(where[0]);
    blocked?.catch(() => undefined);
  });
});

describe("a move at a bad moment", () => {
  test("a ledger that is closed while another one keeps the thread busy lets that one finish", async () => {
    const clients = await Promise.all(Array.from({ length: 8 }, () => openTelling(tempPath())));
    const where = await Promise.all(clients.map((client) => client.call("thread", [])));
    const [slow, other] = clients.filter((_, index) => where[index] === where[0]);
    const working = slow?.call("block", [2500]);
    await other?.close();
    await working;
    expect(await slow?.call("thread", [])).toBe(where[0]);
  });

  test("where no thread starts, a ledger fails to open instead of trying for ever", async () => {
    const stop = (worker: Worker): void => void worker.terminate();
    process.on("worker", stop);
    onTestFinished(() => void process.off("worker", stop));
    // Threads of earlier tests are unknown to it.
    vi.resetModules();
    const fresh = await import("../open-ledger.ts");
    const opening = fresh.openThread({ store: "one", cacheMaxEntries: 1, path: tempPath() });
    await expect(opening).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  /** Stands in for a shared thread, and keeps what it is sent. */
  class Shared extends EventEmitter implements LedgerThread {
    readonly sent: Request[] = [];
    readonly ends: boolean[] = [];
    ref(): void {}
    unref(): void {}
    postMessage(request: Request): void {
      this.sent.push(request);
    }
    async terminate(isClosed: boolean): Promise<void> {
      this.ends.push(isClosed);
    }
  }

  test("a ledger that moves in the moment in which it was opened is opened there as well", async () => {
    const thread = new Shared();
    const opening = clientOf(thread, "the index").call("open", [data.options]);
    thread.emit("message", { id: thread.sent[0]?.id, result: [] });
    thread.emit("moved");
    await opening;
    expect(thread.sent.map(({ method }) => method)).toEqual(["open", "open"]);
  });

  test("a ledger whose end was not waited for leaves the thread that it moves to", async () => {
    const thread = new Shared();
    await clientOf(thread, "the index").close();
    expect(thread.ends).toEqual([]);
    thread.emit("moved");
    expect(thread.ends).toEqual([true]);
  });
});

describe("a thread that is odd", () => {
  const options = { deadlineMs: 20_000 };

  function oddWorker(stuckMs?: number): WorkerClient & { exited: Promise<unknown> } {
    const thread = new Worker(new URL("./test/odd-worker.ts", import.meta.url), { name: "odd" });
    return {
      ...clientOf(thread, "the odd worker", stuckMs),
      exited: new Promise((resolve) => thread.once("exit", resolve)),
    };
  }

  test.each([
    ["ends", /exited with code 3/u],
    ["throws", /thrown on purpose/u],
  ])("a thread that %s fails every waiting call and every later one with UNAVAILABLE", async (what, why) => {
    const client = oddWorker();
    const waiting = client.call("listFiles", ["never"], options);
    const also = client.call("listFiles", ["never"], options);
    const fatal = client.call("listFiles", [what], options);
    for (const call of [waiting, also, fatal]) {
      const failure = await failureOf(call);
      expect([failure.code, failure.message]).toEqual(["UNAVAILABLE", expect.stringMatching(why)]);
      expect(failure.message).toContain("the odd worker");
    }
    expect((await failureOf(client.call("listFiles", ["echo"], options))).code).toBe("UNAVAILABLE");
    await client.close();
  });

  test("a call that is not answered in time fails with UNAVAILABLE, and its late answer goes nowhere", async () => {
    const client = oddWorker();
    const failure = await failureOf(client.call("listFiles", ["late"], { deadlineMs: 20 }));
    expect([failure.code, failure.message]).toEqual([
      "UNAVAILABLE",
      expect.stringMatching(/did not answer listFiles within 0.02 s/u),
    ]);
    expect(await client.call("listFiles", ["echo"], options)).toBe("echo");
    await client.close();
  });

  test("an error keeps its code, its message and the message of its cause on the way", async () => {
    const client = oddWorker();
    const failure = await failureOf(client.call("listFiles", ["fail"], options));
    expect(failure).toMatchObject(data.refusal);
    await client.close();
  });

  test("something that cannot be sent fails that call alone", async () => {
    const client = oddWorker();
    await expect(client.call("listFiles", [() => 1], options)).rejects.toThrow(/could not be cloned/u);
    expect(await client.call("listFiles", ["echo"], options)).toBe("echo");
    await client.close();
  });

  test("closing a thread that does not answer ends it all the same, and waiting calls fail with CLOSED", async () => {
    const client = oddWorker(1);
    const waiting = failureOf(client.call("listFiles", ["busy"], options));
    await client.close();
    expect((await waiting).code).toBe("CLOSED");
    expect((await failureOf(client.call("listFiles", ["echo"], options))).code).toBe("CLOSED");
    await client.exited;
  });

  test("a thread that is inside a long call when it is closed is let finish it, and ends then", async () => {
    const path = join(tempFolder(), "done");
    const client = oddWorker();
    const waiting = failureOf(client.call("listFiles", ["sleeps", path], options));
    await client.close();
    expect((await waiting).code).toBe("CLOSED");
    await client.exited;
    expect(readFileSync(path, "utf8")).toBe("done");
  });
});
