import { MemoryError, parseConfig, openMemory } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { readDuration } from "./options.ts";
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
    test(`${JSON.stringify(written)} are ${milliseconds} ms`, () => expect(readDuration(written)).toBe(milliseconds));

  test.each(["soon", "5", "m", "5m later", ""])("%j is refused by its key", async (written) => {
    const { message } = await errorOf(memoryLab().open({ qmd: { update: { interval: written } } }));
    expect(message).toBe(
      'plugins.entries.memory-qmd.config.update.interval must be written as "5m" or "90s" or "1h30m" or "0"',
    );
  });
});

test("a folder below the home folder is refused where nobody reads the tilde", async () => {
  const { message } = await errorOf(memoryLab().open({ qmd: { sessions: { exportDir: "~/out" } } }));
  expect(message).toContain("config.sessions.exportDir must be written as");
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
