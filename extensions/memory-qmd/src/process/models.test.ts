import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { modelsPresent } from "./models.ts";
import { tempFolder } from "./test/qmd-lab.ts";

const uris = ["hf:ggml-org/embeddinggemma-300M-GGUF/embed-Q8_0.gguf", "hf:tobil/expansion-gguf/expand.gguf"];

function cache(home: string, files: readonly string[]): string {
  const folder = join(home, "qmd/models");
  mkdirSync(folder, { recursive: true });
  for (const file of files) writeFileSync(join(folder, file), "GGUF");
  return folder;
}

test("models are there when each has its file, whatever stands before its name", async () => {
  const home = tempFolder();
  const folder = cache(join(home, ".cache"), ["hf_ggml-org_embed-Q8_0.gguf", "hf_tobil_expand.gguf"]);
  expect(await modelsPresent(uris, { HOME: home })).toBe(true);
  expect(await modelsPresent(uris, { USERPROFILE: home })).toBe(true);
  expect(await modelsPresent([], { HOME: home })).toBe(true);
  rmSync(join(folder, "hf_tobil_expand.gguf"));
  expect(await modelsPresent(uris, { HOME: home })).toBe(false);
  expect(await modelsPresent(uris.slice(0, 1), { HOME: home })).toBe(true);
});

test("the cache folder of the environment goes before the home folder", async () => {
  const [home, other] = [tempFolder(), tempFolder()];
  cache(other, ["hf_ggml-org_embed-Q8_0.gguf", "expand.gguf"]);
  expect(await modelsPresent(uris, { HOME: home, XDG_CACHE_HOME: other })).toBe(true);
  expect(await modelsPresent(uris, { HOME: home })).toBe(false);
});

test("a tag, a part of a download and an empty file are no model", async () => {
  const home = tempFolder();
  const folder = cache(home, ["hf_x_expand.gguf.etag", "hf_x_expand.gguf.ipull"]);
  const environment = { XDG_CACHE_HOME: home };
  expect(await modelsPresent(uris.slice(1), environment)).toBe(false);
  writeFileSync(join(folder, "hf_x_expand.gguf"), "");
  expect(await modelsPresent(uris.slice(1), environment)).toBe(false);
});

test("a path is looked at itself, and a name without a file counts as not there", async () => {
  const home = tempFolder();
  writeFileSync(join(home, "own.gguf"), "GGUF");
  expect(await modelsPresent([join(home, "own.gguf")], { XDG_CACHE_HOME: home })).toBe(true);
  expect(await modelsPresent([join(home, "other.gguf")], { XDG_CACHE_HOME: home })).toBe(false);
  cache(home, ["hf_a_b.gguf"]);
  expect(await modelsPresent(["hf:a/b:Q8_0"], { XDG_CACHE_HOME: home })).toBe(false);
});
