import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "@memslot/test-tools/files";
import { expect, test } from "vitest";
import cases from "../../test/data/cases.json" with { type: "json" };
import { models } from "../update/qmd-index.ts";
import { lexicalLists, semanticList } from "./build-qmd-queries.ts";
import { hasModels } from "./semantic-mode.ts";

const lists = (question: string): string[][] => lexicalLists(question).map((call) => call.map(({ query }) => query));

test.each(cases.questionLists as [string, string[][]][])("%j becomes %j", (question, expected) => {
  expect(lists(question)).toEqual(expected);
});

test("a call has at most ten lists, with identifiers and long words first", () => {
  const words = Array.from({ length: 30 }, (_, index) => `word${"x".repeat(index)}`);
  const [call = [], ...others] = lists([...words, "A1"].join(" "));
  expect([others, call.length]).toEqual([[], 10]);
  expect(call).toEqual(expect.arrayContaining(["A1", words.at(-1)]));
  expect(call).not.toContain(words[0]);
  const sizes = lists("周三下午三点去仁济医院复查膝盖主治医师是林晓女儿的钢琴课改到周六上午").map(
    ({ length }) => length,
  );
  expect([sizes.length, Math.max(...sizes)]).toEqual([2, 10]);
});

test("no list has a quote, a leading minus, a line end or a control character", () => {
  const hostile = ['"x" -foo', "a\nb\0c", "--not", "“q”", "-", '"', "lex: a\nvec: b", "\u200b", "a".repeat(5000)];
  for (const { query } of hostile.flatMap(lexicalLists).flat()) {
    expect(query).not.toMatch(/^$|["\p{Cc}]|(?:^|\s)-/u);
    expect(query.length).toBeLessThanOrEqual(1000);
  }
});

test("a semantic list is the question without line ends and negations", () => {
  expect(semanticList('what is -not "here"\nand there')).toEqual(cases.byMeaning);
  expect(semanticList('--"')).toEqual({ type: "vec", query: '"' });
  expect(semanticList("\n")).toBeUndefined();
});

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
