import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EmbeddingProvider } from "@memslot/core";
import { writeTinyGguf } from "@memslot/fakes/gguf";
import { embeddingConformance } from "@memslot/testkit";
import { afterAll, beforeAll, describe, test } from "vitest";
import { createLocalPlugin } from "./local-plugin.ts";
import { contextOf } from "./test/lab.ts";

// One model for all checks: each would have to load it anew.
const folder = mkdtempSync(join(tmpdir(), "memslot-local-"));
let provider: EmbeddingProvider;
beforeAll(async () => {
  const modelPath = join(folder, "tiny.gguf");
  writeTinyGguf(modelPath);
  provider = await createLocalPlugin().open(contextOf({ stateDir: folder, memorySearch: { local: { modelPath } } }));
});
afterAll(async () => {
  await provider.close?.();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

const stayOpen = { close: { value: async () => undefined } };
embeddingConformance({ describe, test }, { open: async () => Object.create(provider, stayOpen) as EmbeddingProvider });
