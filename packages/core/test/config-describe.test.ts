import { join } from "node:path";
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { ConfigEntry } from "../src/index.ts";
import { configKeys } from "../src/config/keys.ts";
import { editDistance, nearestWord } from "../src/text/nearest-word.ts";
import { type ConfigHome, createConfigHome } from "./support/config-home.ts";
import data from "./data/config-describe.json" with { type: "json" };

let computer: ConfigHome;

beforeEach(() => {
  computer = createConfigHome();
});

describe("the list of effective values", () => {
  test("every key of the table has its default and says so", async () => {
    const entries = (await computer.load()).describe();
    const fixed = configKeys.filter(({ key, same }) => same === undefined && !/[*[]/.test(key));
    expect(entries.map(({ key }) => key)).toEqual(fixed.map(({ key }) => key));
    expect(new Set(entries.map(({ origin }) => origin))).toEqual(new Set(["default"]));
    const valueOf = (key: string): unknown => entries.find((entry) => entry.key === key)?.value;
    expect(valueOf("agents.defaults.workspace")).toBe(join(computer.stateDir, "workspace"));
    expect(valueOf("agents.defaults.memorySearch.store.path")).toBe(
      join(computer.stateDir, "memory", "{agentId}.sqlite"),
    );
    expect(valueOf("plugins.slots.memory")).toBe("memory-core");
  });

  test("what is written carries its file, also under another spelling, and agents add theirs", async () => {
    const file = computer.write(join(computer.home, "c.json5"), data.written);
    const entries = (await computer.load({ configPath: file })).describe().filter(({ origin }) => origin !== "default");
    const at = (key: string, value: unknown): ConfigEntry => ({ key, value, origin: file });
    expect(entries).toEqual([
      at("agents.defaults.memorySearch.query.minScore", 0.5),
      at("memory.backend", "qmd"),
      at("plugins.slots.memory", "memory-qmd"),
      at("plugins.entries.memory-qmd.enabled", true),
      at("agents.list[work].id", "work"),
      at("agents.list[work].workspace", join(computer.home, "w")),
      at("agents.list[work].memorySearch.query.maxResults", 9),
    ]);
  });

  test("no secret is ever printed", async () => {
    const secret = "sk-proj-hush1234567890";
    const baseUrl = "https://user:hush@proxy.example/v1?key=hush";
    const remote = { apiKey: "plain-hush", headers: { "X-Anything": "hush" }, baseUrl };
    const options = { clientSecret: "hush", url: "https://a:hush@b/", list: [secret] };
    const file = computer.write(join(computer.home, "c.json5"), {
      agents: {
        defaults: { memorySearch: { model: secret, remote } },
        list: [{ id: "work", memorySearch: { remote: { apiKey: secret } } }],
      },
      memory: { qmd: { env: { TOKEN: "hush" }, args: ["--header", "Bearer hush"] } },
      plugins: { entries: { mine: { config: options } } },
      models: { providers: { openai: { apiKey: secret, baseUrl: "https://proxy.example/v1" } } },
    });
    const entries = (await computer.load({ configPath: file })).describe();
    expect(JSON.stringify(entries)).not.toMatch("hush");
    expect(Object.fromEntries(entries.map(({ key, value }) => [key, value]))).toMatchObject(data.withoutSecrets);
  });
});

test("a description looks up the zone of time only for who reads it: Intl loads the tables of all zones", async () => {
  const entries = (await computer.load()).describe();
  const lookUp = vi.spyOn(Intl, "DateTimeFormat");
  try {
    expect(entries.some(({ origin }) => origin === "nowhere")).toBe(false);
    expect(lookUp).not.toHaveBeenCalled();
    expect(entries.find(({ key }) => key === "agents.defaults.userTimezone")?.value).toMatch(/\w/);
    expect(lookUp).toHaveBeenCalledTimes(1);
  } finally {
    lookUp.mockRestore();
  }
});

describe("the table of keys", () => {
  test("no key that holds a secret is harmless", () => {
    expect(configKeys.filter(({ secret, harmless }) => secret === true && harmless === true)).toEqual([]);
  });

  test("the nearest word is found by letters added, dropped, changed and swapped, and nothing far", () => {
    expect([editDistance("", "abc"), editDistance("abc", "abc"), editDistance("abcd", "acbd")]).toEqual([3, 0, 1]);
    expect(editDistance("kitten", "sitting")).toBe(3);
    expect(nearestWord("qurey", ["cache", "query"])).toBe("query");
    expect(nearestWord("gateway", ["agents", "memory"])).toBeUndefined();
    expect(nearestWord("x".repeat(1000), ["x".repeat(999)])).toBeUndefined();
  });
});
