import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "@memslot/test-tools/files";
import { expect, test } from "vitest";
import { models } from "../update/qmd-index.ts";
import { hasModels } from "./semantic-mode.ts";

const names = Object.values(models).map((uri) => uri.split("/").at(-1) ?? "");

/** Writes files where qmd keeps its models. */
function writeModels(cache: string, files: readonly string[], text = "GGUF"): string {
  const folder = join(cache, "qmd/models");
  mkdirSync(folder, { recursive: true });
  for (const file of files) writeFileSync(join(folder, file), text);
  return folder;
}

test("models are found in the home folder or the cache folder, with any prefix, only if all are complete", async () => {
  const [home, cache] = [tempFolder(), tempFolder()];
  const folder = writeModels(
    join(home, ".cache"),
    names.map((name) => `hf_owner_${name}`),
  );
  expect(await hasModels({ HOME: home })).toBe(true);
  expect(await hasModels({ USERPROFILE: home })).toBe(true);
  expect(await hasModels({ HOME: home, XDG_CACHE_HOME: cache })).toBe(false);
  const [first = "", ...others] = names;
  writeModels(cache, [`${first}.etag`, `${first}.ipull`, ...others]);
  expect(await hasModels({ XDG_CACHE_HOME: cache })).toBe(false);
  writeModels(cache, [first], "");
  expect(await hasModels({ XDG_CACHE_HOME: cache })).toBe(false);
  writeModels(cache, [first]);
  expect(await hasModels({ XDG_CACHE_HOME: cache })).toBe(true);
  rmSync(join(folder, `hf_owner_${first}`));
  expect(await hasModels({ HOME: home })).toBe(false);
});
