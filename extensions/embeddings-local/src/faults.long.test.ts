import { expect, test } from "vitest";
import { startChild } from "@memslot/test-tools/child";
import { killInBatch, watchChildren } from "./test/children.ts";
import { isRunning } from "@memslot/test-tools/child";
import { eventually } from "@memslot/test-tools/wait";
import { failureOf, openModel, tinyModel } from "./test/lab.ts";

const texts = Array.from({ length: 24 }, (_, index) => `note number ${index} with some words`);

test("when the process is killed in the middle of a batch, the batch is done again by a new one", async () => {
  const children = killInBatch(1);
  const provider = await openModel(tinyModel());
  const vectors = await provider.embedBatch(texts);
  expect(children.length).toBe(2);
  const again = await provider.embedBatch(texts);
  expect(vectors).toEqual(again);
  expect(children.length).toBe(2);
});

test("when it is killed twice in a row the call fails as transient, the host lives, and the next call works", async () => {
  const children = killInBatch(2);
  const provider = await openModel(tinyModel());
  expect(await failureOf(provider.embedBatch(texts))).toMatchObject({
    kind: "transient",
    message: expect.stringMatching(/ended with SIGKILL/),
  });
  expect(children.length).toBe(2);
  expect((await provider.embedBatch(texts)).length).toBe(texts.length);
  expect(children.length).toBe(3);
});

test("a model on which llama.cpp aborts its process is refused after two tries, with the end of the process", async () => {
  const children = watchChildren();
  const path = tinyModel({ omit: ["bert.feed_forward_length"] });
  const provider = await openModel(path);
  const failure = await failureOf(provider.embedBatch(["text"]));
  expect(failure).toMatchObject({ kind: "auth" });
  expect(failure.message).toContain(
    `the model file ${path} cannot be used: the process that loads it ended with SIGABRT`,
  );
  expect(failure.message).toContain("is it a complete GGUF of an embedding model?");
  // Its last words.
  expect(failure.message).toContain("GGML_ASSERT");
  expect(children.length).toBe(2);
});

test("a model that llama.cpp refuses by itself is not tried twice", async () => {
  const children = watchChildren();
  const provider = await openModel(tinyModel({ omit: ["tokenizer.ggml.tokens"] }));
  expect(await failureOf(provider.embedBatch(["text"]))).toMatchObject({
    kind: "auth",
    message: expect.stringMatching(/cannot be used: /),
  });
  expect(children.length).toBe(1);
});

test("a process without work is ended after its time, and the next call starts another one", async () => {
  const children = watchChildren();
  const provider = await openModel(tinyModel(), { overrides: { times: { idleMs: 50 } } });
  const before = await provider.embedQuery("text");
  const [first] = children;
  await eventually(() => first?.signalCode !== null);
  expect(await provider.embedQuery("text")).toEqual(before);
  expect(children.length).toBe(2);
});

test("a process that does not answer is ended, and its call is done by another one", async () => {
  const children = watchChildren();
  const provider = await openModel(tinyModel(), { overrides: { times: { silenceMs: 2000 } } });
  await provider.embedQuery("text");
  children[0]?.kill("SIGSTOP");
  expect((await provider.embedQuery("text")).length).toBe(64);
  expect(children.length).toBe(2);
  await eventually(() => children[0]?.signalCode === "SIGKILL");
});

test("close ends a process that listens to nothing, and what comes later is refused", async () => {
  const children = watchChildren();
  const provider = await openModel(tinyModel());
  await provider.embedQuery("text");
  children[0]?.kill("SIGSTOP");
  await provider.close?.();
  expect(children[0]?.signalCode).toBe("SIGKILL");
  expect(await failureOf(provider.embedQuery("text"))).toMatchObject({ code: "CLOSED" });
});

test("close while the model is being loaded leaves no process behind", async () => {
  const children = watchChildren();
  const provider = await openModel(tinyModel());
  const call = failureOf(provider.embedQuery("text"));
  await eventually(() => children.length === 1);
  await provider.close?.();
  expect(await call).toMatchObject({ code: "CLOSED" });
  expect(children.map(({ signalCode }) => signalCode)).toEqual(["SIGTERM"]);
});

test.each(["stay", "busy"])("the process ends with a host that is killed (%s)", async (what) => {
  const host = startChild(
    new URL("./test/embed-and-stay.ts", import.meta.url),
    [tinyModel({ layers: 6, dimensions: 128 }), what],
    { detached: true },
  );
  const pid = Number(await host.rest("model process "));
  expect(isRunning(pid)).toBe(true);
  host.process.kill("SIGKILL");
  await host.ended;
  await eventually(() => !isRunning(pid));
});

test("a host that ends without closing anything is not held", async () => {
  const host = startChild(new URL("./test/embed-and-stay.ts", import.meta.url), [tinyModel(), "leave"], {
    detached: true,
  });
  const pid = Number(await host.rest("model process "));
  expect(await host.ended).toBe(0);
  await eventually(() => !isRunning(pid));
});
