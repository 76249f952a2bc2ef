import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "@memslot/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import plugin from "@memslot/embeddings-gemini";
import { contextIn } from "./support/open-gemini.ts";
import data from "./data/readme.json" with { type: "json" };

const page = readFileSync(join(import.meta.dirname, "../README.md"), "utf8");
const examples = [...page.matchAll(/^```json5\n([\s\S]*?)^```$/gm)].map(([, code = ""]) => code);

describe("the README", () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "memslot-gemini-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  async function openExample(index: number) {
    const file = join(folder, `example-${index}.json5`);
    writeFileSync(file, examples[index] ?? "");
    const env = { HOME: folder, MEMSLOT_HOME: folder, GEMINI_API_KEY: "e", MY_GEMINI_KEY: "m", GATEWAY_KEY: "g" };
    const config = await loadConfig({ configPath: file, env, cwd: folder });
    expect(config.notices).toEqual([]);
    return plugin.open(contextIn(config));
  }

  test.each(data.examples.map((row, index) => [index, ...row] as const))(
    "example %i opens for %s with the key of %s",
    async (index, host, keySource, model, dimensions, hasBatches) => {
      const provider = await openExample(index);
      expect(provider).toMatchObject({ model, dimensions, endpoint: { host, keySource } });
      expect(provider.batches !== undefined).toBe(hasBatches);
    },
  );

  test("has no example beside these, and says the prices and limits of the code", async () => {
    expect(examples).toHaveLength(5);
    const [first, second] = await Promise.all([openExample(0), openExample(3)]);
    const batches = (await openExample(4)).batches;
    expect(page).toContain(`USD ${first.price?.usdPerMillionTokens.toFixed(2)} with\n\`gemini-embedding-001\``);
    expect(page).toContain(`USD ${second.price?.usdPerMillionTokens.toFixed(2)} with \`gemini-embedding-2\``);
    expect(page).toContain(
      `up to ${first.maxBatchItems} texts and ${first.maxBatchTokens?.toLocaleString("en")} tokens`,
    );
    expect(page).toContain(`up to ${batches?.maxItems} texts and ${(batches?.maxBytes ?? 0) / 1e6} MB`);
    expect(page).toContain(
      new Date(`${first.price?.asOf}T12:00Z`).toLocaleDateString("en", { month: "long", year: "numeric" }),
    );
  });

  test("names every task type that is taken", async () => {
    const [, list = ""] = /^Task types are ([^]*?)\. /m.exec(page) ?? [];
    const named = [...list.matchAll(/`([A-Z_]+)`/g)].map(([, name = ""]) => name);
    const file = join(folder, "wrong.json5");
    writeFileSync(file, '{ agents: { defaults: { memorySearch: { provider: "gemini", inputType: "x" } } } }');
    const config = await loadConfig({ configPath: file, env: { HOME: folder, GEMINI_API_KEY: "e" }, cwd: folder });
    const opened = plugin.open(contextIn(config));
    await expect(opened).rejects.toThrow(`task type of Gemini: ${named.join(", ")}`);
  });
});
