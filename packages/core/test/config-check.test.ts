import { describe, expect, test } from "vitest";
import { type MemslotConfig, parseConfig } from "@memslot/core";
import { failure, withKey } from "./support/config-home.ts";
/** Calls, values and keys of a configuration that are refused, each with what must be said. */
import data from "./data/ranges.json" with { type: "json" };
import wrong from "./data/wrong.json" with { type: "json" };

const defaults = "agents.defaults.memorySearch";

function parse(config: unknown, env: Record<string, string> = {}): MemslotConfig {
  return parseConfig(config, { baseDir: "/base", stateDir: "/state", env: { HOME: "/home/u", ...env } });
}

const refusal = (config: unknown, env: Record<string, string> = {}): Promise<string> =>
  failure("CONFIG", () => parse(config, env));

describe("a value of the wrong kind is an error that names the key, what was found and what is wanted", () => {
  const noNumbers: [string, unknown, string][] = [
    [`${defaults}.query.minScore`, Number.NaN, "must be a number from 0 to 1, but is the number NaN"],
    [`${defaults}.cache.maxEntries`, Number.POSITIVE_INFINITY, "but is the number Infinity"],
  ];
  test.each([...(wrong.configValues as [string, unknown, string][]), ...noNumbers])(
    "%s = %j",
    async (key, value, expected) => {
      const message = await refusal(withKey(key, value));
      expect(message).toMatch(`the given configuration: ${key} `);
      expect(message).toContain(expected);
    },
  );

  test.each<[unknown, Record<string, string>]>([
    [withKey(`${defaults}.remote.headers`, "hush-hush"), {}],
    [withKey("models.providers.x.apiKey", 424_242), {}],
    [withKey(`${defaults}.remote.baseUrl`, "${ADDRESS}"), { ADDRESS: "hush-hush" }],
    [withKey(`${defaults}.query.maxResults`, "sk-proj-hushhush"), {}],
  ])("that may be a secret is not in the message: %j", async (config, env) => {
    expect(await refusal(config, env)).not.toMatch(/hush|424242|424_242/);
  });
});

describe("ranges", () => {
  test.each(data.ranges as [string, number, number, number, number][])(
    "%s goes from %d to %d",
    async (name, lowest, highest, tooLow, tooHigh) => {
      const key = `${defaults}.${name}`;
      for (const value of [lowest, highest]) {
        const entries = parse(withKey(key, value)).describe();
        expect(entries.find((found) => found.key === key)?.value).toBe(value);
      }
      for (const value of [tooLow, tooHigh])
        expect(await refusal(withKey(key, value))).toMatch(`from ${lowest} to ${highest}, but is the number ${value}`);
    },
  );

  test("the overlap has to be less than the chunk, also where an agent changes only one, and fits it by default", async () => {
    const chunking = (tokens: number, overlap?: number): MemslotConfig["agents"][0]["memorySearch"]["chunking"] =>
      parse(withKey(`${defaults}.chunking`, { tokens, overlap })).agent("main").memorySearch.chunking;
    expect(chunking(100, 99)).toEqual({ tokens: 100, overlap: 99 });
    expect([50, 160, 8000].map((tokens) => chunking(tokens).overlap)).toEqual([25, 80, 80]);
    expect(await failure("CONFIG", () => chunking(100, 100))).toMatch(`${defaults}.chunking.overlap must be less`);
    const overridden = {
      defaults: { memorySearch: { chunking: { overlap: 90 } } },
      list: [{ id: "work", memorySearch: { chunking: { tokens: 60 } } }],
    };
    expect(await refusal({ agents: overridden })).toMatch("which is 60 for agent work, but is 90");
  });

  test("weights are kept as written, but not both 0", async () => {
    const weights = (vectorWeight: number, textWeight: number): unknown =>
      withKey(`${defaults}.query.hybrid`, { vectorWeight, textWeight });
    const { hybrid } = parse(weights(7, 3)).agent("a").memorySearch.query;
    expect(hybrid).toMatchObject({ vectorWeight: 7, textWeight: 3 });
    expect(await refusal(weights(0, 0))).toMatch("must not both be 0");
  });
});

describe("agents", () => {
  test.each(wrong.configAgents as [unknown, string][])("like %j are an error: %s", async (config, expected) => {
    expect(await refusal(config)).toContain(expected);
    expect(await refusal(config)).toContain(`the given configuration: `);
  });

  test("cannot be asked for by a blank or impossible id", async () => {
    const config = parse({});
    for (const id of ["", "  ", ".", "..", "a/b", "a\\b", "a b", "é", "a".repeat(65)])
      expect(await failure("INVALID_ARGUMENT", () => config.agent(id))).toMatch("agent id: ");
    expect(config.agent("Some.agent_1-x").id).toBe("Some.agent_1-x");
  });
});

describe("unknown keys", () => {
  test.each(wrong.unknownKeys as [unknown, string][])(
    "%j is reported with the nearest known key",
    (config, expected) => {
      expect(parse(config).notices).toEqual([expect.stringContaining(expected)]);
    },
  );

  test("of other programs are reported once each, without a guess", () => {
    expect(parse({ gateway: { port: 1, auth: { x: 1 } }, channels: { a: {}, b: {} } }).notices).toEqual([
      "the given configuration: unknown key gateway is ignored",
      "the given configuration: unknown key channels is ignored",
    ]);
    const agents = Array.from({ length: 5 }, (_, index) => ({ id: `a${index}`, identity: {} }));
    expect(parse(withKey("agents.list", agents)).notices).toHaveLength(1);
  });

  test("give a short answer, however many they are", () => {
    const { notices } = parse(Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`zzzzzz${index}`, 1])));
    expect([notices.length, notices.at(-1)]).toEqual([21, expect.stringContaining("80 more unknown keys")]);
  });

  test("with control characters cannot write to the terminal, and __proto__ is no key", async () => {
    const [notice] = parse({ "a\u001B[2J\u009B\u202Eb\n": 1 }).notices;
    expect(notice).not.toMatch(/\p{C}/u);
    expect(notice).toMatch("unknown key");
    expect(await refusal(JSON.parse('{"plugins":{"entries":{"__proto__":{"enabled":true}}}}'))).toMatch("__proto__");
  });

  const long = "x".repeat(900_000);
  test.each([
    ["an unknown key", { [long]: 1 }],
    ["an unknown key in a group", { agents: { defaults: { memorySearch: { [long]: 1 } } } }],
    ["an unknown key with signs", { [`${long} `]: 1 }],
    ["a plugin that has an unknown key", { plugins: { entries: { [long]: { enbled: true } } } }],
  ])("and long names are cut where a notice names them: %s", (_what, content) => {
    const { notices } = parse(content);
    expect(notices).toHaveLength(1);
    expect(notices[0]?.length).toBeLessThan(400);
  });
});

describe("a configuration that a program made", () => {
  test("undefined counts as absent and a blank text as well", () => {
    const memorySearch = { model: undefined, provider: " " };
    const config = parse({ agents: { defaults: { workspace: "", memorySearch } } });
    const { workspaceDir, memorySearch: settings } = config.agent("main");
    expect([workspaceDir, settings.provider, config.notices]).toEqual(["/state/workspace", "auto", []]);
  });

  test("functions and instances in the options of a plugin reach the plugin as they are", () => {
    const client = new (class Client {
      calls = 0;
    })();
    const { plugins } = parse(withKey("plugins.entries.mine.config", { client, make: () => 1 }));
    expect(plugins.entries["mine"]?.config["client"]).toBe(client);
    expect(Object.isFrozen(client)).toBe(false);
  });

  test("options that hold themselves, or go a hundred levels deep, are refused", async () => {
    const circle: Record<string, unknown> = {};
    circle["again"] = circle;
    for (const options of [withKey(Array.from({ length: 100 }, () => "a").join("."), 1), circle]) {
      const message = await refusal(withKey("plugins.entries.mine.config", options));
      expect(message).toMatch("plugins.entries.mine.config is nested too deeply");
    }
  });

  test("MEMSLOT_WORKSPACE does not change it, the option does", () => {
    const env = { HOME: "/home/u", MEMSLOT_WORKSPACE: "/elsewhere" };
    const config = withKey("agents.defaults.workspace", "notes");
    expect(parseConfig(config, { baseDir: "/base", env }).agent("main").workspaceDir).toBe("/base/notes");
    const moved = parseConfig(config, { baseDir: "/base", env, workspace: "other" });
    expect(moved.agent("main").workspaceDir).toBe("/base/other");
  });
});
