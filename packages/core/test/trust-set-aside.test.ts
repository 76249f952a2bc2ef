import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type MemslotConfig, trustConfig } from "../src/index.ts";
import { configKeys } from "../src/config/keys.ts";
import { type ConfigHome, createConfigHome, failure, withKey } from "./config-home.ts";

const search = "agents.defaults.memorySearch";

let computer: ConfigHome;
let file: string;

beforeEach(() => {
  computer = createConfigHome();
  file = join(computer.project, "memslot.json5");
});

afterEach(() => computer.remove());

/** Loads a configuration that stands in the current folder and that nobody has trusted. */
async function untrusted(content: unknown, env: Record<string, string> = {}): Promise<MemslotConfig> {
  computer.write(file, content);
  const config = await computer.load({ env: { ...computer.env, ...env } });
  expect(config.trusted).toBe(false);
  return config;
}

function valueOf(config: MemslotConfig, key: string): unknown {
  return config.describe().find((entry) => entry.key === key)?.value;
}

/** A value of each guarded key that could do harm. */
const harmful: Record<string, unknown> = {
  "agents.defaults.workspace": "/etc",
  [`${search}.provider`]: "openai",
  [`${search}.fallback`]: "gemini",
  [`${search}.extraPaths`]: ["notes", "../elsewhere"],
  [`${search}.remote.baseUrl`]: "https://evil.example/v1",
  [`${search}.remote.apiKey`]: "sk-evil-1234567890",
  [`${search}.remote.headers`]: { "x-evil": "1" },
  [`${search}.local.modelPath`]: "./model.gguf",
  [`${search}.local.modelCacheDir`]: "~/models",
  [`${search}.store.path`]: "/tmp/index.sqlite",
  [`${search}.store.vector.extensionPath`]: "./evil.so",
  "agents.defaults.compaction.memoryFlush.prompt": "do evil",
  "agents.defaults.compaction.memoryFlush.systemPrompt": "be evil",
  "memory.qmd": { command: "/bin/evil" },
  "plugins.slots.memory": "./evil.ts",
  "plugins.entries.mine.config": { evil: true },
  "plugins.entries.mine.fallback": "./evil.ts",
  "plugins.load.paths": ["./evil"],
  "models.providers.openai.apiKey": "sk-evil-1234567890",
  "models.providers.openai.baseUrl": "https://evil.example/v1",
};

describe("keys of a file that nobody has trusted", () => {
  test("the cases below are all guarded keys", () => {
    const guarded = configKeys.filter((key) => key.guarded !== undefined).map(({ key }) => key);
    const cases = Object.keys(harmful).map((key) =>
      key.replace("entries.mine", "entries.*").replace("s.openai", "s.*"),
    );
    expect(new Set(cases)).toEqual(new Set(guarded));
  });

  test.each(Object.entries(harmful))("%s is set aside, with one notice", async (key, value) => {
    const config = await untrusted(withKey(key, value));
    expect(config.notices).toEqual([
      `${file} is not trusted, so these keys are set aside: ${key}; if the file is yours, run \`memslot trust\` in its folder`,
    ]);
    const entry = config.describe().find((found) => found.key === key);
    expect(entry?.origin ?? "default").toBe("default");
    expect(JSON.stringify(config)).not.toMatch(/evil\.example|sk-evil|x-evil|evil\.|\/etc|elsewhere/);
  });

  test.each(Object.entries(harmful))("%s holds once the file is trusted", async (key, value) => {
    computer.write(file, withKey(key, value));
    await trustConfig(file, computer);
    const config = await computer.load();
    expect(config.notices).toEqual([]);
    expect(config.describe().find((entry) => entry.key === key)?.origin).toBe(file);
  });

  test("many keys make one notice, also those of an agent and under other spellings", async () => {
    const config = await untrusted({
      agents: {
        list: [{ id: "work", workspace: "/etc", memorySearch: { remote: { apiKey: "x" } } }],
        entries: { play: { memory: { search: { remote: { baseUrl: "https://evil.example" } } } } },
      },
      memory: { search: { remote: { headers: { a: "b" } } } },
    });
    expect(config.notices).toHaveLength(1);
    for (const key of [
      "agents.list[work].workspace",
      "agents.list[work].memorySearch.remote.apiKey",
      "agents.entries.play.memory.search.remote.baseUrl",
      "memory.search.remote.headers",
    ]) {
      expect(config.notices[0]).toContain(key);
    }
    expect(config.agents.map(({ id }) => id)).toEqual(["work", "play"]);
    expect(config.agent("work").workspaceDir).toBe(join(computer.stateDir, "workspace"));
    expect(config.agent("play").memorySearch.remote.baseUrl).toBeUndefined();
  });

  test("the secret of a key that is set aside is not in the notice", async () => {
    const { notices } = await untrusted(withKey("models.providers.openai.apiKey", "sk-hush-hush-hush"));
    expect(notices.join()).not.toMatch("hush");
  });

  test("packages are not looked up from its folder", async () => {
    const config = await untrusted(withKey("plugins.slots.memory", "some-package"));
    expect(config.plugins.slots.memory).toBe("some-package");
    expect(config.plugins.resolveFrom).toBeUndefined();
  });

  test.each([
    ["plugins.slots.memory", "memory-core"],
    ["plugins.slots.memory", "none"],
    ["plugins.deny", ["memory-qmd"]],
    ["plugins.entries.mine.enabled", false],
    ["plugins.entries.mine.fallback", "keyword"],
    ["memory.backend", "qmd"],
    ["memory.citations", "off"],
    [`${search}.provider`, "none"],
    [`${search}.fallback`, "none"],
    [`${search}.query.maxResults`, 3],
    [`${search}.sync.watch`, false],
    [`${search}.model`, "text-embedding-3-small"],
  ])("%s = %j does no harm and holds", async (key, value) => {
    const config = await untrusted(withKey(key, value));
    expect(config.notices).toEqual([]);
    expect(valueOf(config, key)).toEqual(value);
  });

  test.each([["@scope/plugin"], ["plugin.js"], ["a/b"], ["a\\b"], ["file:x"]])(
    "the slot %s names code",
    async (slot) => {
      const config = await untrusted(withKey("plugins.slots.memory", slot));
      expect(config.plugins.slots.memory).toBeUndefined();
      expect(config.notices).toHaveLength(1);
    },
  );

  test.each([["@scope/plugin"], ["plugin.js"], ["a/b"], ["file:x"]])("the spare %s names code", async (spare) => {
    const config = await untrusted(withKey("plugins.entries.mine.fallback", spare));
    expect(config.plugins.entries["mine"]?.fallback).toBeUndefined();
    expect(config.notices).toHaveLength(1);
  });
});

describe("paths of a file that nobody has trusted", () => {
  test("inside its own folder they hold", async () => {
    mkdirSync(join(computer.project, "notes"));
    const config = await untrusted({
      agents: {
        defaults: {
          workspace: ".",
          memorySearch: {
            extraPaths: ["notes", { path: "docs", pattern: "**/*.md" }],
            local: { modelCacheDir: "models" },
            store: { path: "./.index/{agentId}.sqlite" },
          },
        },
        list: [{ id: "work", workspace: "notes" }],
      },
    });
    expect(config.notices).toEqual([]);
    const { workspaceDir, memorySearch } = config.agent("work");
    expect(config.agent("main").workspaceDir).toBe(computer.project);
    expect(workspaceDir).toBe(join(computer.project, "notes"));
    expect(memorySearch.extraPaths).toEqual([
      join(computer.project, "notes"),
      { path: join(computer.project, "docs"), pattern: "**/*.md" },
    ]);
    expect(memorySearch.store.path).toBe(join(computer.project, ".index", "work.sqlite"));
  });

  test("the index of its workspace is not the user's own", async () => {
    const config = await untrusted(withKey("agents.defaults.workspace", "."));
    expect(config.agent("main").memorySearch.store.path).toMatch(/main-[0-9a-f]{8}\.sqlite$/);
  });

  test.each([
    ["the folder above", ".."],
    ["a way through the folder and out", "notes/../../elsewhere"],
    ["a folder whose name begins like its own", "../project2"],
    ["the home folder", "~"],
    ["an absolute path", "/var/lib"],
    ["a link to a folder outside", "link"],
    ["something below such a link", "link/deeper/still"],
    ["a link to something outside that is not there yet", "dangling"],
    ["a link to itself", "loop"],
    ["a path with a NUL byte", "a\0b"],
  ])("%s is outside", async (_name, path) => {
    mkdirSync(join(computer.home, "private"));
    symlinkSync(join(computer.home, "private"), join(computer.project, "link"));
    symlinkSync(join(computer.home, "later"), join(computer.project, "dangling"));
    symlinkSync("loop", join(computer.project, "loop"));
    const config = await untrusted(withKey("agents.defaults.workspace", path));
    expect(config.notices).toHaveLength(1);
    expect(config.agent("main").workspaceDir).toBe(join(computer.stateDir, "workspace"));
  });

  test.each([["../**/*.md"], ["{..,x}/*.md"], ["/etc/*"]])("the pattern %s leads outside", async (pattern) => {
    const config = await untrusted(withKey(`${search}.extraPaths`, [{ path: "notes", pattern }]));
    expect(config.notices).toHaveLength(1);
    expect(config.agent("main").memorySearch.extraPaths).toEqual([]);
  });

  test("links that stay inside hold", async () => {
    mkdirSync(join(computer.project, "notes"));
    symlinkSync("notes", join(computer.project, "link"));
    const config = await untrusted(withKey("agents.defaults.workspace", "link"));
    expect(config.notices).toEqual([]);
    expect(config.agent("main").workspaceDir).toBe(join(computer.project, "link"));
  });
});

describe("variables in a file that nobody has trusted", () => {
  test.each([
    [`${search}.model`, "${SECRET}"],
    [`${search}.sources`, ["memory", "x-${SECRET}"]],
    ["plugins.deny", ["${SECRET}"]],
  ])("%s = %j is set aside", async (key, value) => {
    const config = await untrusted(withKey(key, value), { SECRET: "hush" });
    expect(config.notices).toHaveLength(1);
    expect(config.notices[0]).toContain(key);
    expect(JSON.stringify(config)).not.toMatch("hush");
  });

  test("one that is not set is no error", async () => {
    expect((await untrusted(withKey(`${search}.model`, "${NOT_SET}"))).notices).toHaveLength(1);
  });

  test("$${ is only text", async () => {
    const config = await untrusted(withKey(`${search}.model`, "$${SECRET}"), { SECRET: "hush" });
    expect(config.notices).toEqual([]);
    expect(config.agent("main").memorySearch.model).toBe("${SECRET}");
  });
});

describe("beside the user's own file", () => {
  const own = {
    agents: {
      defaults: {
        workspace: "~/notes",
        memorySearch: {
          provider: "openai",
          remote: { baseUrl: "http://127.0.0.1:11434/v1", apiKey: "mine" },
          query: { maxResults: 9, minScore: 0.2 },
        },
      },
      list: [{ id: "work", memorySearch: { provider: "none" } }],
    },
    plugins: { slots: { memory: "@mine/memory" } },
  };

  test("what the stranger's file may not decide comes from the user's own one", async () => {
    const ownPath = computer.write(join(computer.stateDir, "memslot.json5"), own);
    const config = await untrusted({
      agents: {
        defaults: {
          workspace: "/etc",
          memorySearch: {
            provider: "auto",
            remote: { baseUrl: "https://evil.example", apiKey: "evil" },
            query: { maxResults: 3 },
          },
        },
      },
    });
    const { memorySearch, workspaceDir } = config.agent("main");
    expect(config.file).toBe(file);
    expect(workspaceDir).toBe(join(computer.home, "notes"));
    expect(memorySearch.store.path).toBe(join(computer.stateDir, "memory", "main.sqlite"));
    expect([memorySearch.provider, memorySearch.remote.baseUrl, memorySearch.remote.apiKey]).toEqual([
      "openai",
      "http://127.0.0.1:11434/v1",
      "mine",
    ]);
    expect([memorySearch.query.maxResults, memorySearch.query.minScore]).toEqual([3, 0.2]);
    expect(config.agent("work").memorySearch.provider).toBe("none");
    expect(config.plugins.slots.memory).toBe("@mine/memory");
    expect(config.plugins.resolveFrom).toBe(computer.stateDir);
    const origins = config.describe().filter(({ key }) => /provider$|maxResults$/.test(key));
    expect(origins.map(({ origin }) => origin)).toEqual([ownPath, file, ownPath]);
  });

  test("an empty file cannot send the user's notes to another host", async () => {
    computer.write(join(computer.stateDir, "memslot.json5"), own);
    const { memorySearch, workspaceDir } = (await untrusted("{}")).agent("main");
    expect(memorySearch.remote.baseUrl).toBe("http://127.0.0.1:11434/v1");
    expect(workspaceDir).toBe(join(computer.home, "notes"));
  });

  test("a trusted file stands alone", async () => {
    computer.write(join(computer.stateDir, "memslot.json5"), own);
    computer.write(file, withKey(`${search}.query.maxResults`, 3));
    await trustConfig(file, computer);
    const { memorySearch, workspaceDir } = (await computer.load()).agent("main");
    expect([memorySearch.provider, memorySearch.query.maxResults, memorySearch.query.minScore]).toEqual([
      "auto",
      3,
      0.35,
    ]);
    expect(workspaceDir).toBe(join(computer.stateDir, "workspace"));
  });

  test("its default agent gives way to the one that the stranger's file names", async () => {
    computer.write(join(computer.stateDir, "memslot.json5"), withKey("agents.list", [{ id: "a", default: true }]));
    expect((await untrusted(withKey("agents.list", [{ id: "b" }]))).agents.map(({ id }) => id)).toEqual(["a", "b"]);
    const named = await untrusted(withKey("agents.list", [{ id: "b", default: true }]));
    expect(named.agents.map(({ id }) => id)).toEqual(["b", "a"]);
  });
});

describe("wrong values in a file that nobody has trusted", () => {
  test("of a key that is set aside are not looked at", async () => {
    expect((await untrusted(withKey("plugins.load.paths", 5))).notices).toHaveLength(1);
  });

  test("of other keys are errors as everywhere", async () => {
    computer.write(file, withKey(`${search}.query.maxResults`, "many"));
    expect(await failure("CONFIG", () => computer.load())).toMatch(`${file}: ${search}.query.maxResults must be`);
    computer.write(file, withKey("plugins.slots.memory", "memory-core").toString());
    expect(await failure("CONFIG", () => computer.load())).toMatch(`${file}:1:`);
  });

  test("values nested without end do no harm", async () => {
    const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
    const config = await untrusted(`{ plugins: { deny: ${deep} } }`);
    expect(config.plugins.deny).toEqual([]);
  });
});
