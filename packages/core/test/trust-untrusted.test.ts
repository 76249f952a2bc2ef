import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { type MemslotConfig } from "@memslot/core";
import { trustConfig } from "@memslot/core/host";
import { type ConfigKey, configKeys } from "../src/config/keys.ts";
import { type ConfigHome, createConfigHome, failure, withKey } from "./support/config-home.ts";
import data from "./data/untrusted.json" with { type: "json" };

const search = "agents.defaults.memorySearch";

let computer: ConfigHome;
let file: string;

beforeEach(() => {
  computer = createConfigHome();
  file = join(computer.project, "memslot.json5");
});

/** Loads a configuration that stands in the current folder and that nobody has trusted. */
async function untrusted(content: unknown, env: Record<string, string> = {}): Promise<MemslotConfig> {
  computer.write(file, content);
  const config = await computer.load({ env: { ...computer.env, ...env } });
  expect(config.trusted).toBe(false);
  return config;
}

/** All that a stranger's file may decide: how a search answers. */
const harmless = [
  `${search}.query.maxResults`,
  `${search}.query.maxTokens`,
  `${search}.query.minScore`,
  `${search}.query.hybrid.vectorWeight`,
  `${search}.query.hybrid.textWeight`,
  `${search}.query.hybrid.candidateMultiplier`,
  "memory.citations",
];

/** Values of each type that are no default. */
const evilValues: Record<string, unknown> = {
  string: "evil",
  path: "./evil",
  url: "https://evil.example/v1",
  timeZone: "Pacific/Chatham",
  strings: ["memory", "sessions", "evil"],
  globs: ["memory", "sessions", "evil"],
  paths: ["./evil"],
  extraPaths: ["./evil"],
  map: { "x-evil": "1" },
  object: { command: "./evil" },
};

/** A right value of a key that is not its default. */
function otherValue({
  key,
  type,
  default: usual,
  range: [minimum = 0, maximum = 1] = [],
  choices,
}: ConfigKey): unknown {
  if (key.endsWith("slots.memory")) return "memory-lancedb";
  if (type === "boolean") return usual !== true;
  if (type === "integer" || type === "number") return usual === minimum ? maximum : minimum;
  if (type === "choice") return choices?.find((choice) => choice !== usual);
  if (type in evilValues) return evilValues[type];
  throw new Error(`there is no other value of type ${type}`);
}

/** Every way to write every key of the table, with a value, and the key that it is. */
function everyWay(): { written: string; key: string; content: unknown }[] {
  const ways = configKeys.flatMap((key) => {
    const targets = key.same === undefined ? [key] : configKeys.filter((other) => isBelow(other, key.same ?? ""));
    return targets.map((target) => ({
      target,
      written: key.same === undefined ? key.key : key.key + target.key.slice(key.same.length),
    }));
  });
  return ways.map(({ target, written }) => {
    const value = otherValue(target);
    const path = written.replace("*", "mine");
    if (!path.startsWith("agents.list[].")) return { written, key: target.key, content: withKey(path, value) };
    const inside = path.slice("agents.list[].".length);
    const agent = inside === "id" ? { id: "evil" } : { id: "main", ...withKey(inside, value) };
    return { written, key: target.key, content: { agents: { list: [agent] } } };
  });
}

function isBelow({ key, same }: ConfigKey, group: string): boolean {
  return same === undefined && (key === group || key.startsWith(`${group}.`));
}

/** What a configuration comes to, whatever file it is from. */
function outcome(config: MemslotConfig): string {
  const { agents, plugins, providers, citations } = config;
  const entries = config.describe().map(({ key, value }) => ({ key, value }));
  return JSON.stringify({ agents, plugins, providers, citations, entries });
}

describe("keys of a file that nobody has trusted", () => {
  test("the list of harmless ones is short, and grows only here", () => {
    expect(configKeys.filter((key) => key.harmless === true).map(({ key }) => key)).toEqual(harmless);
  });

  /** What the configurations come to, each in a folder of its own, where what they name as code is. */
  function loaded(
    contents: readonly unknown[],
    isTrusted: boolean,
  ): Promise<{ text: string; notices: readonly string[] }[]> {
    const load = async (content: unknown, index: number) => {
      const folder = join(computer.project, String(index));
      const path = computer.write(join(folder, "memslot.json5"), content);
      computer.write(join(folder, "evil"), "");
      if (isTrusted) await trustConfig(path, computer);
      const config = await computer.load({ cwd: folder });
      expect(config.trusted).toBe(isTrusted);
      return { text: outcome(config).replaceAll(folder, "<folder>"), notices: config.notices };
    };
    return Promise.all(contents.map(load));
  }

  test("every other key of the table changes nothing, however it is written, and is named in one notice", async () => {
    const ways = everyWay();
    expect(ways.length).toBeGreaterThan(200);
    const [plain, ...all] = await loaded([{}, ...ways.map(({ content }) => content)], false);
    const changing = ways.filter(({ key }, index) => {
      const { text, notices } = all[index] ?? { text: "", notices: [] };
      const isChanged = text !== plain?.text;
      expect(notices).toEqual(isChanged ? [] : [expect.stringContaining("memslot trust")]);
      if (isChanged) expect(harmless).toContain(key);
      return isChanged;
    });
    const others = harmless.slice(0, -1).map((key) => key.replace(search, "memory.search"));
    expect(changing.map(({ written }) => written)).toEqual([...harmless, ...others]);
  });

  test("and each of them holds once the file is trusted, so the values above are right ones", async () => {
    const ways = everyWay();
    const [plain, ...all] = await loaded([{}, ...ways.map(({ content }) => content)], true);
    expect(ways.filter((_, index) => all[index]?.text === plain?.text)).toEqual([]);
  });

  test("many keys make one notice, also those of an agent and under other spellings", async () => {
    const config = await untrusted(data.configuration);
    expect(config.notices).toHaveLength(1);
    for (const key of data.keys) expect(config.notices[0]).toContain(key);
    expect(config.agents.map(({ id }) => id)).toEqual(["main"]);
    expect(JSON.stringify(config)).not.toContain("evil.example");
  });

  test("the notice is short, however many keys there are and however long their names", async () => {
    const entries = Object.fromEntries(
      Array.from({ length: 2000 }, (_, index) => [`${"x".repeat(200)}${index}`, { enabled: false }]),
    );
    const { notices } = await untrusted({ plugins: { entries } });
    expect(notices).toHaveLength(1);
    expect(notices[0]).toContain("and 1980 more");
    expect(notices[0]?.length).toBeLessThan(4000);
  });

  test("secrets are not in the notice, and packages are not looked up from its folder", async () => {
    const { notices } = await untrusted(withKey("models.providers.openai.apiKey", "sk-hush-hush-hush"));
    expect(notices.join()).not.toMatch("hush");
    const { plugins } = await untrusted(withKey("plugins.slots.memory", "some-package"));
    expect([plugins.slots.memory, plugins.resolveFrom]).toEqual([undefined, undefined]);
  });
});

test.each([
  ["memory.citations", "${SECRET}"],
  [`${search}.query.maxResults`, "${SECRET}"],
  [`${search}.sources`, ["memory", "x-${SECRET}"]],
  [`${search}.model`, "${NOT_SET}"],
])("a variable in a file that nobody has trusted is set aside: %s = %j", async (key, value) => {
  const config = await untrusted(withKey(key, value), { SECRET: "hush" });
  expect(config.notices).toEqual([expect.stringContaining(key)]);
  expect(JSON.stringify(config)).not.toMatch("hush");
});

describe("beside the user's own file", () => {
  const notes = "~/notes";
  const remote = { baseUrl: "http://127.0.0.1:11434/v1", apiKey: "mine" };
  const own = {
    agents: {
      defaults: {
        workspace: notes,
        memorySearch: { provider: "openai", remote, query: { maxResults: 9, minScore: 0.2 } },
      },
      list: [{ id: "work", memorySearch: { provider: "none" } }],
    },
    plugins: { slots: { memory: "@mine/memory" } },
  };

  test("what the stranger's file may not decide comes from the user's own one", async () => {
    const ownPath = computer.write(join(computer.stateDir, "memslot.json5"), own);
    const evil = { provider: "auto", remote: { baseUrl: "https://evil.example", apiKey: "evil" } };
    const memorySearch = { ...evil, query: { maxResults: 3 } };
    const config = await untrusted({ agents: { defaults: { workspace: "/etc", memorySearch } } });
    expect(config.file).toBe(file);
    expect(config.agent("main")).toMatchObject({
      workspaceDir: join(computer.home, "notes"),
      memorySearch: {
        provider: "openai",
        remote,
        query: { maxResults: 3, minScore: 0.2 },
        store: { path: join(computer.stateDir, "memory", "main.sqlite") },
      },
    });
    expect(config.agent("work").memorySearch.provider).toBe("none");
    expect(config.plugins).toMatchObject({ slots: { memory: "@mine/memory" }, resolveFrom: computer.stateDir });
    const origins = config.describe().filter(({ key }) => /memorySearch\.provider$|maxResults$/.test(key));
    expect(origins.map(({ origin }) => origin)).toEqual([ownPath, file, ownPath]);
  });

  test("an empty file cannot send the user's notes to another host, and a trusted one stands alone", async () => {
    computer.write(join(computer.stateDir, "memslot.json5"), own);
    const workspaceDir = join(computer.home, "notes");
    expect((await untrusted("{}")).agent("main")).toMatchObject({ workspaceDir, memorySearch: { remote } });
    computer.write(file, withKey(`${search}.query.maxResults`, 3));
    await trustConfig(file, computer);
    expect((await computer.load()).agent("main")).toMatchObject({
      workspaceDir: join(computer.stateDir, "workspace"),
      memorySearch: { provider: "auto", query: { maxResults: 3, minScore: 0.35 } },
    });
  });

  test("its agents and its default one stay as they are", async () => {
    computer.write(join(computer.stateDir, "memslot.json5"), withKey("agents.list", [{ id: "a", default: true }]));
    const config = await untrusted(
      withKey("agents.list", [
        { id: "b", default: true },
        { id: "a", name: "evil" },
      ]),
    );
    expect(config.agents.map(({ id }) => id)).toEqual(["a"]);
    expect(JSON.stringify(config.describe())).not.toContain("evil");
  });
});

describe("wrong values in a file that nobody has trusted", () => {
  test("of other keys are errors as everywhere", async () => {
    computer.write(file, withKey(`${search}.query.maxResults`, "many"));
    expect(await failure("CONFIG", () => computer.load())).toMatch(`${file}: ${search}.query.maxResults must be`);
  });

  test.each(["plugins: { deny:", "memory: { citations:"])("values nested without end do no harm: %s", async (key) => {
    const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
    const config = await untrusted(`{ ${key} ${deep} } }`);
    expect([config.plugins.deny, config.citations, config.notices.length]).toEqual([[], "auto", 1]);
  });
});
