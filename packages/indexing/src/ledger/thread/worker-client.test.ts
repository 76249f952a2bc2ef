import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { MemoryError } from "@memslot/core";
import { expect, test } from "vitest";
import { clientOf, type WorkerClient } from "./worker-client.ts";
import { tempFolder } from "@memslot/test-tools/files";

const options = { deadlineMs: 20_000 };

function oddWorker(stuckMs?: number): WorkerClient & { exited: Promise<unknown> } {
  const thread = new Worker(new URL("./test/odd-worker.ts", import.meta.url), { name: "odd" });
  return { ...clientOf(thread, "the odd worker", stuckMs), exited: once(thread, "exit") };
}

async function failureOf(work: Promise<unknown>): Promise<MemoryError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!MemoryError.is(error)) throw new Error(`not a MemoryError: ${String(error)}`);
  return error;
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
  expect(failure).toMatchObject({
    code: "INVALID_ARGUMENT",
    message: "no such thing",
    cause: { message: "deep down" },
  });
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
