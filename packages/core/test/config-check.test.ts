import { describe, expect, test } from "vitest";
import { type MemslotConfig, parseConfig } from "@memslot/core";
import { failure, withKey } from "./support/config-home.ts";

const defaults = "agents.defaults.memorySearch";

function parse(config: unknown, env: Record<string, string> = {}): MemslotConfig {
  return parseConfig(config, { baseDir: "/base", stateDir: "/state", env: { HOME: "/home/u", ...env } });
}

describe("a value of the wrong kind is an error that names the key, what was found and what is wanted", () => {
  test.each([
    [`${defaults}.query.maxResults`, "six", 'must be a whole number from 1 to 200, but is the text "six"'],
    [`${defaults}.query.maxResults`, 2.5, "must be a whole number from 1 to 200, but is the number 2.5"],
    [`${defaults}.query.minScore`, null, "must be a number from 0 to 1, but is null"],
    [`${defaults}.query.minScore`, Number.NaN, "must be a number from 0 to 1, but is the number NaN"],
    [`${defaults}.cache.maxEntries`, Number.POSITIVE_INFINITY, "but is the number Infinity"],
    [`${defaults}.enabled`, "true", 'must be true or false, but is the text "true"'],
    [`${defaults}.sync.watch`, 1, "must be true or false, but is the number 1"],
    [`${defaults}.sync.onSessionStart`, "no", 'must be true or false, but is the text "no"'],
    [`${defaults}.sync.sessions.postCompactionForce`, 1, "must be true or false, but is the number 1"],
    [`${defaults}.sync.sessions.deltaMessages`, 1.5, "must be a whole number from 0 to 1000000, but is the number 1.5"],
    [`${defaults}.provider`, ["openai"], "must be a text, but is a list"],
    [`${defaults}.sources`, "memory", 'must be a list of texts, none of them blank, but is the text "memory"'],
    [`${defaults}.sources`, ["memory", ""], "none of them blank, but is a list"],
    [`${defaults}.extraPaths`, [{ pattern: "*.md" }], "must be a list of paths or of { path, pattern }"],
    [`${defaults}.extraPaths`, ["a\0b"], "must be a list of paths or of { path, pattern }"],
    [`${defaults}.remote.headers`, { "x-team": 5 }, "must be an object that gives each name a text, but is an object"],
    [`${defaults}.remote.baseUrl`, "localhost:1234", "must be an address that starts with http:// or https://"],
    [`${defaults}.store.path`, true, "must be a path, but is true"],
    ["agents.defaults.workspace", 5, "must be a path, but is the number 5"],
    ["agents.defaults.compaction.memoryFlush.prompt", {}, "must be a text, but is an object"],
    ["memory.citations", "of", 'must be one of "auto", "on", "off", but is the text "of"'],
    ["memory.backend", "lancedb", 'must be one of "builtin", "qmd"'],
    ["memory.qmd", "qmd", "must be an object"],
    ["plugins.slots.memory", 1, "must be a text, but is the number 1"],
    ["plugins.load.paths", "./x", 'must be a list of paths, but is the text "./x"'],
    ["plugins.deny", [1], "must be a list of texts"],
    ["plugins.entries.mine.enabled", "no", "must be true or false"],
    ["plugins.entries.mine.fallback", true, "must be a text, but is true"],
    ["plugins.entries.mine.config", [], "must be an object, but is a list"],
  ])("%s = %j", async (key, value, expected) => {
    const message = await failure("CONFIG", () => parse(withKey(key, value)));
    expect(message).toMatch(`the given configuration: ${key} `);
    expect(message).toContain(expected);
  });

  test.each([
    ["agents"],
    ["agents.defaults"],
    [defaults],
    [`${defaults}.query`],
    [`${defaults}.sync.sessions`],
    ["plugins.entries"],
    ["memory"],
  ])("a text in place of the group %s", async (group) => {
    expect(await failure("CONFIG", () => parse(withKey(group, "text")))).toMatch(`${group} must be an object`);
  });

  test("a secret is never part of the message", async () => {
    const cases = [withKey(`${defaults}.remote.headers`, "hush-hush"), withKey("models.providers.x.apiKey", 424_242)];
    for (const config of cases) {
      expect(await failure("CONFIG", () => parse(config))).not.toMatch(/hush|424242|424_242/);
    }
    const address = withKey(`${defaults}.remote.baseUrl`, "${ADDRESS}");
    expect(await failure("CONFIG", () => parse(address, { ADDRESS: "hush-hush" }))).not.toMatch("hush");
    const misplaced = withKey(`${defaults}.query.maxResults`, "sk-proj-hushhush");
    expect(await failure("CONFIG", () => parse(misplaced))).not.toMatch("hush");
  });
});

describe("ranges", () => {
  test.each([
    ["query.maxResults", 1, 200, 0, 201],
    ["query.minScore", 0, 1, -0.1, 1.1],
    ["query.hybrid.candidateMultiplier", 1, 20, 0.5, 21],
    ["query.hybrid.vectorWeight", 0, 100, -1, 101],
    ["chunking.tokens", 50, 8000, 49, 8001],
    ["sync.watchDebounceMs", 0, 600_000, -1, 600_001],
    ["sync.watchMaxFiles", 1, 10_000_000, 0, 10_000_001],
    ["sync.intervalMinutes", 0, 10_080, -1, 10_081],
    ["sync.sessions.deltaBytes", 0, 1_000_000_000, -1, 1_000_000_001],
    ["sync.sessions.deltaMessages", 0, 1_000_000, -1, 1_000_001],
    ["outputDimensionality", 1, 16_384, 0, 16_385],
    ["remote.batch.concurrency", 1, 64, 0, 65],
  ])("%s goes from %d to %d", async (name, lowest, highest, tooLow, tooHigh) => {
    const key = `${defaults}.${name}`;
    for (const value of [lowest, highest]) {
      const entry = parse(withKey(key, value))
        .describe()
        .find((found) => found.key === key);
      expect(entry?.value).toBe(value);
    }
    for (const value of [tooLow, tooHigh]) {
      const message = await failure("CONFIG", () => parse(withKey(key, value)));
      expect(message).toMatch(`from ${lowest} to ${highest}, but is the number ${value}`);
    }
  });

  test("the overlap has to be less than the chunk, also where an agent changes only one of them", async () => {
    const chunking = { tokens: 100, overlap: 99 };
    expect(parse(withKey(`${defaults}.chunking`, chunking)).agent("main").memorySearch.chunking).toEqual(chunking);
    const equal = withKey(`${defaults}.chunking`, { tokens: 100, overlap: 100 });
    expect(await failure("CONFIG", () => parse(equal))).toMatch(`${defaults}.chunking.overlap must be less`);
    const overridden = {
      agents: {
        defaults: { memorySearch: { chunking: { overlap: 90 } } },
        list: [{ id: "work", memorySearch: { chunking: { tokens: 60 } } }],
      },
    };
    expect(await failure("CONFIG", () => parse(overridden))).toMatch("which is 60 for agent work, but is 90");
  });

  test("an overlap that is not written fits the chunk", () => {
    const overlapOf = (tokens: number): number =>
      parse(withKey(`${defaults}.chunking.tokens`, tokens)).agent("main").memorySearch.chunking.overlap;
    expect([overlapOf(50), overlapOf(160), overlapOf(8000)]).toEqual([25, 80, 80]);
  });

  test("weights are kept as written, but not both 0", async () => {
    const { hybrid } = parse(withKey(`${defaults}.query.hybrid`, { vectorWeight: 7, textWeight: 3 })).agent("a")
      .memorySearch.query;
    expect([hybrid.vectorWeight, hybrid.textWeight]).toEqual([7, 3]);
    const none = withKey(`${defaults}.query.hybrid`, { vectorWeight: 0, textWeight: 0 });
    expect(await failure("CONFIG", () => parse(none))).toMatch("must not both be 0");
  });
});

describe("agents", () => {
  const list = (...agents: unknown[]): unknown => withKey("agents.list", agents);

  test.each([
    ["two agents with one id", list({ id: "a" }, { id: "a" }), 'agents.list[1].id: two agents have the same id, "a"'],
    ["two ids that differ in capitals", list({ id: "a" }, { id: "A" }), 'the same id, "a" and "A"'],
    [
      "two default agents",
      list({ id: "a", default: true }, { id: "b", default: true }),
      "more than one agent with default",
    ],
    ["a blank id", list({ id: " " }), "agents.list[0].id: it must not be blank"],
    ["no id", list({ id: "a" }, { name: "x" }), "agents.list[1].id: every agent must have an id"],
    ["a number as id", list({ id: 7 }), "agents.list[0].id: it must be a text"],
    ["an id that ends with a dot", list({ id: "work." }), 'agents.list[0].id: "work." must not end with a dot'],
    ["an id that is a device", list({ id: "CON" }), 'agents.list[0].id: "CON" is the name of a device'],
    ["a device with an ending", list({ id: "lpt1.notes" }), 'agents.list[0].id: "lpt1.notes" is the name of a device'],
    ["an id that is a path", list({ id: "../a" }), 'agents.list[0].id: "../a" must have only letters'],
    ["an id of dots", list({ id: ".." }), "agents.list[0].id: it must be more than dots"],
    ["an id that is too long", list({ id: "a".repeat(65) }), "at most 64 characters"],
    ["an agent that is a text", list("main"), "agents.list[0] must be an object"],
    ["a list that is an object", withKey("agents.list", { main: {} }), "agents.list must be a list"],
    ["an entry with a bad id", withKey("agents.entries", { "a/b": {} }), 'agents.entries."a/b": "a/b" must have only'],
    [
      "an entry like a listed agent",
      { agents: { list: [{ id: "a" }], entries: { A: {} } } },
      'the same id, "a" and "A"',
    ],
  ])("%s is an error", async (_name, config, expected) => {
    expect(await failure("CONFIG", () => parse(config))).toContain(`the given configuration: `);
    expect(await failure("CONFIG", () => parse(config))).toContain(expected);
  });

  test("agents that would share one index are an error", async () => {
    const config = {
      agents: { defaults: { memorySearch: { store: { path: "x.sqlite" } } }, list: [{ id: "a" }, { id: "b" }] },
    };
    expect(await failure("CONFIG", () => parse(config))).toMatch(
      "the agents a and b have the same memorySearch.store.path",
    );
    expect(parse(withKey(`${defaults}.store.path`, "x.sqlite")).agent("any").memorySearch.store.path).toBe(
      "/base/x.sqlite",
    );
  });

  test("asking for a blank or impossible agent is an invalid argument", async () => {
    const config = parse({});
    for (const id of ["", "  ", ".", "..", "a/b", "a\\b", "a b", "é", "a".repeat(65)]) {
      expect(await failure("INVALID_ARGUMENT", () => config.agent(id))).toMatch("agent id: ");
    }
    expect(config.agent("Some.agent_1-x").id).toBe("Some.agent_1-x");
  });
});

describe("unknown keys", () => {
  test.each([
    [withKey(`${defaults}.querry`, {}), `${defaults}.querry is ignored; did you mean ${defaults}.query?`],
    [withKey(`${defaults}.query.maxResult`, 5), `did you mean ${defaults}.query.maxResults?`],
    [withKey(`${defaults}.query.maxresults`, 5), `did you mean ${defaults}.query.maxResults?`],
    [withKey(`${defaults}.maxResults`, 5), `did you mean ${defaults}.query.maxResults?`],
    [withKey("memorySearch.provider", "none"), `unknown key memorySearch is ignored; did you mean ${defaults}?`],
    [withKey("plugin.slots.memory", "x"), "unknown key plugin is ignored; did you mean plugins?"],
    [withKey("plugins.slot.memory", "x"), "did you mean plugins.slots?"],
    [withKey("memory.search.qurey", {}), "memory.search.qurey is ignored; did you mean memory.search.query?"],
    [withKey("models.providers.openai.baseURL", "x"), "did you mean models.providers.openai.baseUrl?"],
    [
      withKey("agents.list", [{ id: "work", maxResults: 5 }]),
      "agents.list[work].maxResults is ignored; did you mean agents.list[work].memorySearch.query.maxResults?",
    ],
  ])("%j is told with the nearest known key", (config, expected) => {
    const { notices } = parse(config);
    expect(notices).toHaveLength(1);
    expect(notices[0]).toContain(expected);
  });

  test("keys of other programs are told once each, without a guess", () => {
    const { notices } = parse({ gateway: { port: 1, auth: { x: 1 } }, channels: { a: {}, b: {} } });
    expect(notices).toEqual([
      "the given configuration: unknown key gateway is ignored",
      "the given configuration: unknown key channels is ignored",
    ]);
  });

  test("the same unknown key of many agents is told once", () => {
    const agents = Array.from({ length: 5 }, (_, index) => ({ id: `a${index}`, identity: {} }));
    expect(parse(withKey("agents.list", agents)).notices).toHaveLength(1);
  });

  test("a file with a hundred unknown keys gives a short answer", () => {
    const { notices } = parse(Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`zzzzzz${index}`, 1])));
    expect(notices).toHaveLength(21);
    expect(notices.at(-1)).toMatch("80 more unknown keys");
  });

  test("a key with control characters cannot write to the terminal", () => {
    const [notice] = parse({ "a\u001B[2J\u009B\u202Eb\n": 1 }).notices;
    expect(notice).not.toMatch(/\p{C}/u);
    expect(notice).toMatch("unknown key");
  });

  test("__proto__ is no key", async () => {
    const config: unknown = JSON.parse('{"plugins":{"entries":{"__proto__":{"enabled":true}}}}');
    expect(await failure("CONFIG", () => parse(config))).toMatch("__proto__");
  });
});

describe("a configuration that a program made", () => {
  test("undefined counts as absent and a blank text as well", () => {
    const config = parse({
      agents: { defaults: { workspace: "", memorySearch: { model: undefined, provider: " " } } },
    });
    expect(config.agent("main").workspaceDir).toBe("/state/workspace");
    expect(config.agent("main").memorySearch.provider).toBe("auto");
    expect(config.notices).toEqual([]);
  });

  test("functions and instances in the options of a plugin reach the plugin as they are", () => {
    const client = new (class Client {
      calls = 0;
    })();
    const options = parse(withKey("plugins.entries.mine.config", { client, make: () => 1 })).plugins.entries["mine"]
      ?.config;
    expect(options?.["client"]).toBe(client);
    expect(Object.isFrozen(client)).toBe(false);
  });

  test("options that hold themselves, or go a hundred levels deep, are refused", async () => {
    const deep = withKey(Array.from({ length: 100 }, () => "a").join("."), 1);
    const nested = withKey("plugins.entries.mine.config", deep);
    expect(await failure("CONFIG", () => parse(nested))).toMatch("plugins.entries.mine.config is nested too deeply");
    const circle: Record<string, unknown> = {};
    circle["again"] = circle;
    const config = withKey("plugins.entries.mine.config", circle);
    expect(await failure("CONFIG", () => parse(config))).toMatch("plugins.entries.mine.config is nested too deeply");
  });

  test("MEMSLOT_WORKSPACE does not change it, the option does", () => {
    const env = { HOME: "/home/u", MEMSLOT_WORKSPACE: "/elsewhere" };
    const config = withKey("agents.defaults.workspace", "notes");
    expect(parseConfig(config, { baseDir: "/base", env }).agent("main").workspaceDir).toBe("/base/notes");
    const moved = parseConfig(config, { baseDir: "/base", env, workspace: "other" });
    expect(moved.agent("main").workspaceDir).toBe("/base/other");
  });
});

describe("a name of any length", () => {
  const long = "x".repeat(900_000);

  test.each([
    ["an unknown key", { [long]: 1 }],
    ["an unknown key in a group", { agents: { defaults: { memorySearch: { [long]: 1 } } } }],
    ["an unknown key with signs", { [`${long} `]: 1 }],
    ["a plugin that has an unknown key", { plugins: { entries: { [long]: { enbled: true } } } }],
  ])("is cut where a notice names it: %s", (_what, content) => {
    const { notices } = parse(content);
    expect(notices).toHaveLength(1);
    expect(notices[0]?.length).toBeLessThan(400);
  });

  test("is cut in an error, and where the configuration is described", async () => {
    const wrong = { plugins: { entries: { [long]: { enabled: "yes" } } } };
    expect((await failure("CONFIG", () => parse(wrong))).length).toBeLessThan(400);
    const right = parse({ plugins: { entries: { [long]: { enabled: true } } } });
    expect(JSON.stringify(right.describe().map(({ key }) => key)).length).toBeLessThan(20_000);
  });

  test("is a name of its own, whatever it begins with", () => {
    const names = [`${long}a`, `${long}b`, `${long} a`, `${long} b`];
    const entries = Object.fromEntries(names.map((name, index) => [name, { fallback: `spare-${index}` }]));
    const config = parse({ plugins: { entries } });
    expect(config.notices).toEqual([]);
    expect(Object.values(config.plugins.entries).map(({ fallback }) => fallback)).toEqual([
      "spare-0",
      "spare-1",
      "spare-2",
      "spare-3",
    ]);
  });
});
