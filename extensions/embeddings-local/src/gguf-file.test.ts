import { readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readGguf } from "./gguf-file.ts";
import { type GgufValue, ggufBytes } from "@memslot/fakes/gguf";
import { openModel, failureOf, tempFolder, tinyModel } from "./test/lab.ts";
import { watchChildren } from "./test/children.ts";

test("the head says the name, the length of the vectors and the tokens that a text may have", async () => {
  const path = tinyModel({ dimensions: 32, contextLength: 300, name: "Some Model" });
  expect(await readGguf(path)).toEqual({ name: "Some Model", dimensions: 32, contextLength: 300 });
});

test("a head of some megabytes is read to its end, as that of a model with many tokens is", async () => {
  const words = Array.from({ length: 60_000 }, (_, index) => `word${index}`);
  const keys: Record<string, GgufValue> = {
    "tokenizer.ggml.tokens": { type: "strings", value: words },
    "tokenizer.ggml.token_type": { type: "i32s", value: words.map(() => 1) },
    "general.architecture": { type: "string", value: "bert" },
    "bert.embedding_length": { type: "u32", value: 768 },
  };
  const path = join(tempFolder(), "large.gguf");
  writeFileSync(path, ggufBytes(keys, []));
  expect(await readGguf(path)).toMatchObject({ dimensions: 768, contextLength: undefined });
});

test.each([
  ["one byte short", (size: number) => size - 1],
  ["half of it", (size: number) => Math.floor(size / 2)],
])("a file that is cut short is told from a whole one: %s", async (_, cut) => {
  const path = tinyModel();
  const size = readFileSync(path).length;
  truncateSync(path, cut(size));
  await expect(readGguf(path)).rejects.toThrow(`it is cut short: ${cut(size)} of ${size} bytes are there`);
});

test.each([
  ["a file that ends within its head", (bytes: Buffer) => bytes.subarray(0, 700), /ends within its head/],
  ["a text", () => Buffer.from("# Notes\n"), /no GGUF file/],
  ["an empty file", () => Buffer.alloc(0), /no GGUF file/],
  ["a version of another day", (bytes: Buffer) => (bytes.writeUInt32LE(9, 4), bytes), /version 9/],
  ["a count beyond the file", (bytes: Buffer) => (bytes.writeUInt32LE(7, 20), bytes), /ends within its head/],
])("%s is refused", async (_, change, message) => {
  const path = tinyModel();
  writeFileSync(path, change(readFileSync(path)));
  await expect(readGguf(path)).rejects.toThrow(message);
});

test("such a file is refused when the provider is opened, and when it has become so later, without starting a process", async () => {
  const children = watchChildren();
  const path = tinyModel();
  const provider = await openModel(path);
  truncateSync(path, 100_000);
  expect(await failureOf(provider.embedQuery("text"))).toMatchObject({
    kind: "auth",
    message: expect.stringMatching(/cannot be used: it is cut short/),
  });
  expect(await failureOf(openModel(path))).toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringMatching(/cut short: 100000 of \d+ bytes are there; set .*modelPath to another file/),
  });
  expect(children).toEqual([]);
});
