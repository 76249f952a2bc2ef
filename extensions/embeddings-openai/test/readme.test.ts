import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type MemslotConfig, loadConfig } from "@memslot/core";
import { describe, expect, onTestFinished, test } from "vitest";
import plugin from "@memslot/embeddings-openai";
import cases from "./data/cases.json" with { type: "json" };

const page = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const examples = [...page.matchAll(/^```json5\n([\s\S]*?)^```$/gm)].map(([, text = ""]) => text);

const env = cases.env;

/** Reads a configuration as the command would, from a file. */
function loadExample(text: string): Promise<MemslotConfig> {
  const folder = mkdtempSync(join(tmpdir(), "memslot-readme-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const configPath = join(folder, "memslot.json5");
  writeFileSync(configPath, text);
  return loadConfig({ configPath, cwd: folder, env: { ...env, MEMSLOT_HOME: folder } });
}

describe("the configurations of the README", () => {
  const rows = cases.examples as [string, string, string | null, number][];

  test("are as many as are tried here", () => {
    expect(examples).toHaveLength(rows.length);
  });

  test.each(rows.map((row, index) => [...row, index] as const))("%s", async (_, host, keySource, tokens, index) => {
    const config = await loadExample(examples[index] ?? "");
    expect(config.notices).toEqual([]);
    const settings = config.agent("main").memorySearch;
    expect(settings.provider).toBe("openai");
    const provider = await plugin.open({
      settings,
      providers: config.providers,
      environment: (variable) => config.environment(variable),
      stateDir: config.stateDir,
      options: {},
      signal: new AbortController().signal,
    });
    expect(provider.endpoint).toMatchObject({ host, keySource: keySource ?? undefined });
    expect(provider.model).toBe(settings.model);
    expect(provider.maxInputTokens).toBe(tokens);
  });
});
