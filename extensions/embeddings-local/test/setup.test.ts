import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import plugin from "@memslot/embeddings-local";
import { expect, test } from "vitest";
import { createLocalPlugin } from "../src/local-plugin.ts";
import { contextOf, failureOf, tempFolder, tinyModel } from "../src/test/lab.ts";

test("setup names the model's file, what has come of it, and what is to be installed; it changes nothing", async () => {
  const stateDir = tempFolder();
  const context = contextOf({ stateDir });
  const modelFile = join(stateDir, "models/hf/ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf");
  expect(await plugin.setup?.(context)).toEqual({ modelFile, isModelThere: false, modelBytes: 0, missing: undefined });
  expect(readdirSync(stateDir)).toEqual([]);
  mkdirSync(dirname(modelFile), { recursive: true });
  writeFileSync(`${modelFile}.part`, Buffer.alloc(1234));
  expect(await plugin.setup?.(context)).toMatchObject({ isModelThere: false, modelBytes: 1234 });

  const path = tinyModel();
  const bare = createLocalPlugin({ beside: tempFolder() });
  expect(await bare.setup?.(contextOf({ stateDir, memorySearch: { local: { modelPath: path } } }))).toEqual({
    modelFile: path,
    isModelThere: true,
    modelBytes: statSync(path).size,
    missing: {
      reason: expect.stringContaining("node-llama-cpp is not installed; install it with: npm install --prefix"),
      npm: expect.arrayContaining(["install", stateDir, "node-llama-cpp@3.22.1", "--ignore-scripts"]),
    },
  });
});

test("setup fails for a file that is there and is no model", async () => {
  const path = join(tempFolder(), "page.gguf");
  writeFileSync(path, "<html>");
  const asked = Promise.resolve(plugin.setup?.(contextOf({ memorySearch: { local: { modelPath: path } } })));
  expect(await failureOf(asked)).toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringContaining("no GGUF file"),
  });
});
