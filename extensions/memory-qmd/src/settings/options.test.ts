import { readFileSync } from "node:fs";
import { MemoryError, parseConfig, openMemory } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { configSchema } from "./config-schema.ts";
import { readDuration } from "./durations.ts";
import plugin from "../index.ts";
import { processLimits, readOptions } from "./options.ts";
import { memoryLab, errorOf } from "../test/memory-lab.ts";
import { tempFolder } from "../process/test/qmd-lab.ts";

describe("durations", () => {
  const cases: [string | number, number][] = [
    ["5m", 300_000],
    ["90s", 90_000],
    ["1h30m", 5_400_000],
    ["500ms", 500],
    [" 2H ", 7_200_000],
    ["0", 0],
    ["off", 0],
    [5, 300_000],
    ["100d", 2 ** 31 - 1],
  ];
  for (const [written, milliseconds] of cases)
    test(`${JSON.stringify(written)} are ${milliseconds} ms`, () =>
      expect(readDuration("key", written)).toBe(milliseconds));

  test.each(["soon", "5", "m", "5m later", ""])("%j is refused by its key", (written) => {
    expect(() => readDuration("memory.qmd.update.interval", written)).toThrow(/memory\.qmd\.update\.interval.*5m/);
  });
});

test("the manifest and the plugin have one schema", () => {
  const manifest = JSON.parse(readFileSync(new URL("../../memslot.plugin.json", import.meta.url), "utf8")) as Record<
    string,
    unknown
  >;
  expect(manifest["configSchema"]).toEqual(configSchema);
  expect(plugin.configSchema).toEqual(configSchema);
});

test("the keys of the field are taken", async () => {
  const lab = memoryLab();
  const { memory } = await lab.open({
    qmd: {
      searchMode: "search",
      includeDefaultMemory: true,
      paths: [{ path: "docs", name: "docs", pattern: "**/*.md" }],
      sessions: { enabled: false, retentionDays: 30 },
      update: {
        interval: "5m",
        debounceMs: 15000,
        onBoot: true,
        waitForBootSync: true,
        embedInterval: "60m",
        commandTimeoutMs: 30000,
        updateTimeoutMs: 120000,
        embedTimeoutMs: 120000,
      },
      limits: { maxResults: 4, maxSnippetChars: 450, maxInjectedChars: 2200, timeoutMs: 4000 },
      mcporter: { enabled: false, serverName: "qmd", startDaemon: true },
      scope: { default: "deny", rules: [{ action: "allow", match: { chatType: "direct" } }] },
    },
  });
  expect(memory.status().backend).toBe("memory-qmd");
});

test("waitForBootSync has the notes in qmd when the memory is open", async () => {
  const lab = memoryLab();
  lab.write("memory/a.md", "The lynx was seen.\n");
  const { ask } = await lab.open({ qmd: { update: { waitForBootSync: true } } });
  expect(lab.fake.starts("update")).toHaveLength(1);
  expect((await ask("lynx")).paths).toEqual(["memory/a.md"]);
});

test("memory.qmd of a configuration reaches the plugin, and a wrong key is named", async () => {
  const workspace = tempFolder();
  const config = parseConfig(
    {
      memory: { backend: "qmd", qmd: { searchmode: "search", fallback: "none" } },
      agents: { defaults: { workspace } },
    },
    { stateDir: tempFolder() },
  );
  const error = await errorOf(openMemory({ config, agentId: "main", plugins: [plugin] }));
  expect(MemoryError.is(error, "CONFIG")).toBe(true);
  expect(error.message).toMatch(/searchmode.*did you mean "searchMode"/);
});

test("times of the configuration are those of the process layer", () => {
  const options = readOptions({ update: { updateTimeoutMs: 5000, commandTimeoutMs: 700 }, limits: { timeoutMs: 900 } });
  expect(processLimits(options)).toEqual({
    initializeMs: 700,
    probeMs: 700,
    updateBaseMs: 5000,
    updatePerFileMs: 0,
    cliQueryMs: 900,
  });
  expect(processLimits(readOptions({}))).toEqual({});
});
