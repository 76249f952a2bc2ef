import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type MemslotConfig, loadConfig } from "@memslot/core";
import { configReference, editConfigText } from "@memslot/core/host";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { initialConfigText } from "./init.ts";

let home: string;

beforeEach(() => {
  home = realpathSync.native(mkdtempSync(join(tmpdir(), "memslot-first-")));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
});

async function load(name: string, text: string): Promise<{ config: MemslotConfig; file: string }> {
  const file = join(home, name);
  writeFileSync(file, text);
  return { config: await loadConfig({ cwd: home, env: { HOME: home }, configPath: file }), file };
}

function uncommented(text: string): string {
  return text.replaceAll(/^(\s*)\/\/ (\w+: .*,)$/gm, "$1$2");
}

test("is read without a notice and sets the workspace alone", async () => {
  const { config, file } = await load("memslot.json5", initialConfigText({ workspace: 'my "notes"' }));
  expect(config.notices).toEqual([]);
  expect(config.agent("main").workspaceDir).toBe(join(home, 'my "notes"'));
  expect(config.describe().filter(({ origin }) => origin === file)).toHaveLength(1);
});

test("says in its comments what the defaults are", async () => {
  const text = initialConfigText({ workspace: "." });
  const [plain, full] = [await load("a.json5", text), await load("b.json5", uncommented(text))];
  expect(full.config.notices).toEqual([]);
  expect(full.config.agent("main")).toEqual(plain.config.agent("main"));
  expect(full.config.describe().filter(({ origin }) => origin === full.file).length).toBe(
    configReference().filter(({ isCommon }) => isCommon).length,
  );
});

test("takes a choice of the slot below the default that is commented out", async () => {
  const text = initialConfigText({ workspace: "." });
  const edited = await editConfigText(text, [{ key: ["plugins", "slots", "memory"], value: "memory-mine" }]);
  expect(edited.replace('\n      memory: "memory-mine",', "")).toBe(text);
  expect(edited).toContain('// memory: "memory-core",\n      memory: "memory-mine",\n    },');
});
