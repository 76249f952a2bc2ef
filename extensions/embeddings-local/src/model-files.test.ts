import { mkdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type GgufValue, ggufBytes } from "@memslot/fakes/gguf";
import { expect, test } from "vitest";
import { findLlama } from "./find-llama.ts";
import { readGguf } from "./gguf-file.ts";
import { createLocalPlugin } from "./local-plugin.ts";
import { failureOf } from "@memslot/fakes/plugin-context";
import { tempFolder } from "@memslot/test-tools/files";
import { contextFor, openModel, tinyModel, watchChildren } from "./test/lab.ts";
import cases from "../test/data/cases.json" with { type: "json" };

const home = "/home/ada";

function found(platform: string, arch: string, stateDir = "/home/ada/.memslot"): ReturnType<typeof findLlama> {
  return findLlama({ stateDir, beside: tempFolder(), machine: { platform, arch, home } });
}

test.each(cases.builds as [string, string, string][])(
  "on %s %s the command installs its build and nothing for graphics cards",
  (platform, arch, build) => {
    const packages = ["node-llama-cpp@3.22.1", `@node-llama-cpp/${build}@3.22.1`];
    const end = ["--omit=optional", "--ignore-scripts"];
    const next = `install it with: npm ${["install", "--prefix", "~/.memslot", ...packages, ...end].join(" ")}`;
    expect(found(platform, arch)).toMatchObject({
      why: { reason: `node-llama-cpp is not installed; ${next}` },
      npm: ["install", "--prefix", "/home/ada/.memslot", ...packages, ...end],
    });
  },
);

test.each(cases.stateFolders as [string, string, string, string, string][])(
  "the state folder is quoted for the shell of %s %s",
  (platform, arch, stateDir, prefix, build) => {
    for (const part of [prefix, build])
      expect(found(platform, arch, stateDir)).toMatchObject({ why: { reason: expect.stringContaining(part) } });
  },
);

test("a machine without a build gets no command", () => {
  const llama = found("freebsd", "x64");
  expect(llama).not.toHaveProperty("npm");
  expect(llama).toMatchObject({ why: { reason: expect.stringContaining("there is none for freebsd on x64; use") } });
});

test("node-llama-cpp without its build counts as missing", () => {
  const stateDir = tempFolder();
  const folder = join(stateDir, "node_modules", "node-llama-cpp");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "name": "node-llama-cpp", "version": "3.22.1", "main": "index.js" }');
  writeFileSync(join(folder, "index.js"), "");
  const machine = { platform: "linux", arch: "x64", home };
  expect(findLlama({ stateDir, beside: tempFolder(), machine })).toMatchObject({
    missing: { reason: "node-llama-cpp has no build for this machine beside it" },
    why: { reason: expect.stringContaining("@node-llama-cpp/linux-x64@3.22.1") },
  });
});

test("without it opening fails with the command, and `auto` skips the provider", async () => {
  const plugin = createLocalPlugin({ beside: tempFolder() });
  const context = contextFor({ modelPath: tinyModel() });
  const failure = await failureOf(plugin.open(context));
  expect(failure).toMatchObject({ code: "UNAVAILABLE" });
  expect(failure.message).toContain(`npm install --prefix ${context.stateDir} node-llama-cpp@3.22.1 @node-llama-cpp/`);
  expect(await plugin.available?.(context)).toMatchObject({ ok: false, reason: "node-llama-cpp is not installed" });
});

test("a head has name, dimensions and context length, and may be some megabytes long", async () => {
  const small = tinyModel({ dimensions: 32, contextLength: 300, name: "Some Model" });
  expect(await readGguf(small)).toEqual({ name: "Some Model", dimensions: 32, contextLength: 300 });
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
  ["one byte less", (bytes: Buffer) => bytes.subarray(0, -1), /it is cut short: (\d+) of \d+ bytes are there/],
  ["half of the bytes", (bytes: Buffer) => bytes.subarray(0, bytes.length / 2), /it is cut short: (\d+) of \d+ bytes/],
  ["a part of the head", (bytes: Buffer) => bytes.subarray(0, 700), /ends within its head/],
  ["text", () => Buffer.from("# Notes\n"), /not a GGUF file/],
  ["no bytes", () => Buffer.alloc(0), /not a GGUF file/],
  ["an unknown version", (bytes: Buffer) => (bytes.writeUInt32LE(9, 4), bytes), /version 9/],
  ["a count beyond the file", (bytes: Buffer) => (bytes.writeUInt32LE(7, 20), bytes), /ends within its head/],
])("a file with %s is refused", async (_, change, message) => {
  const path = tinyModel();
  writeFileSync(path, change(readFileSync(path)));
  await expect(readGguf(path)).rejects.toThrow(message);
});

test("a cut file is refused at opening and at the first text, without starting a process", async () => {
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
