import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { resolveStateDir } from "@memslot/core";
import { beforeEach, describe, expect, test } from "vitest";
import { type ConfigHome, createConfigHome, failure, withKey } from "./support/config-home.ts";

let computer: ConfigHome;

beforeEach(() => {
  computer = createConfigHome();
});

function results(maxResults: number): unknown {
  return withKey("agents.defaults.memorySearch.query.maxResults", maxResults);
}

describe("where the configuration is looked up", () => {
  test("without any file every key has its default", async () => {
    const config = await computer.load();
    expect(config.file).toBeUndefined();
    expect(config.trusted).toBe(true);
    expect(config.notices).toEqual([]);
    expect(config.stateDir).toBe(computer.stateDir);
    expect(config.plugins.resolveFrom).toBeUndefined();
    expect(config.agents.map(({ id, workspaceDir }) => ({ id, workspaceDir }))).toEqual([
      { id: "main", workspaceDir: join(computer.stateDir, "workspace") },
    ]);
  });

  test("the option comes first, then the variable, the current folder and the state folder", async () => {
    const own = computer.write(join(computer.stateDir, "memslot.json5"), results(1));
    expect((await computer.load()).file).toBe(own);

    const here = computer.write(join(computer.project, "memslot.json5"), results(2));
    const inFolder = await computer.load();
    expect([inFolder.file, inFolder.agent("main").memorySearch.query.maxResults]).toEqual([here, 2]);

    const named = computer.write(join(computer.home, "named.json5"), results(3));
    const env = { ...computer.env, MEMSLOT_CONFIG: named };
    const byVariable = await computer.load({ env });
    expect([byVariable.file, byVariable.agent("main").memorySearch.query.maxResults]).toEqual([named, 3]);

    const option = computer.write(join(computer.project, "other.json5"), results(4));
    const byOption = await computer.load({ env, configPath: "other.json5" });
    expect([byOption.file, byOption.agent("main").memorySearch.query.maxResults]).toEqual([option, 4]);
  });

  test("MEMSLOT_HOME moves the state folder, its configuration and the default workspace", async () => {
    const stateDir = join(computer.project, "state");
    const own = computer.write(join(stateDir, "memslot.json5"), results(5));
    const config = await computer.load({ env: { ...computer.env, MEMSLOT_HOME: "state" } });
    expect(config.file).toBe(own);
    expect(config.stateDir).toBe(stateDir);
    expect(config.agent("main").workspaceDir).toBe(join(stateDir, "workspace"));
    expect(config.agent("main").memorySearch.store.path).toBe(join(stateDir, "memory", "main.sqlite"));
  });

  test("blank variables count as not set", async () => {
    const env = { ...computer.env, MEMSLOT_HOME: " ", MEMSLOT_CONFIG: "", MEMSLOT_WORKSPACE: "" };
    const config = await computer.load({ env });
    expect(config.stateDir).toBe(computer.stateDir);
    expect(config.agent("main").workspaceDir).toBe(join(computer.stateDir, "workspace"));
  });

  test("the home folder comes from HOME, then USERPROFILE, then the system", () => {
    expect(resolveStateDir({ env: { HOME: "/h", USERPROFILE: "/u" } })).toBe("/h/.memslot");
    expect(resolveStateDir({ env: { USERPROFILE: "/u" } })).toBe("/u/.memslot");
    expect(resolveStateDir({ env: {} })).toBe(join(homedir(), ".memslot"));
    expect(resolveStateDir({ env: { HOME: "/h", MEMSLOT_HOME: "~/state" } })).toBe("/h/state");
  });
});

describe("a file that cannot be used", () => {
  test("a named file that is missing is an error", async () => {
    const missing = join(computer.project, "missing.json5");
    expect(await failure("CONFIG", () => computer.load({ configPath: missing }))).toMatch(`${missing} does not exist`);
    const env = { ...computer.env, MEMSLOT_CONFIG: missing };
    expect(await failure("CONFIG", () => computer.load({ env }))).toMatch(`${missing} does not exist`);
  });

  test("a blank option is an error and not some folder", async () => {
    expect(await failure("CONFIG", () => computer.load({ configPath: " " }))).toMatch("--config is blank");
    expect(await failure("INVALID_ARGUMENT", () => computer.load({ workspace: "" }))).toMatch("--workspace is blank");
  });

  test("a folder named as the configuration is an error", async () => {
    expect(await failure("CONFIG", () => computer.load({ configPath: computer.home }))).toMatch("is a folder");
    mkdirSync(join(computer.project, "memslot.json5"));
    expect(await failure("CONFIG", () => computer.load())).toMatch("is a folder");
  });

  test("an unreadable file is an error that names it", async () => {
    // A link to itself cannot be read by anybody, root included.
    const loop = join(computer.project, "memslot.json5");
    symlinkSync(loop, loop);
    expect(await failure("CONFIG", () => computer.load())).toMatch(`${loop} cannot be read: ELOOP`);
    const below = join(computer.write(join(computer.home, "file"), ""), "memslot.json5");
    expect(await failure("CONFIG", () => computer.load({ configPath: below }))).toMatch(`${below} cannot be read`);
  });

  test("a file that is no text, or far too large, is an error", async () => {
    const file = join(computer.home, "memslot.json5");
    writeFileSync(file, Buffer.from([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]));
    expect(await failure("CONFIG", () => computer.load({ configPath: file }))).toMatch(`${file} is not UTF-8 text`);
    writeFileSync(file, " ".repeat(1024 * 1024 + 1));
    expect(await failure("CONFIG", () => computer.load({ configPath: file }))).toMatch("larger than 1 MiB");
    expect(await failure("CONFIG", () => computer.load({ configPath: "/dev/null" }))).toMatch("is not a file");
  });

  test.each([
    ["a missing colon", "{\n  agents: {},\n  memory {}\n}", "3:10"],
    ["an empty file", "", "1:1"],
    ["a missing brace", "{ agents: {}", "1:13"],
    ["a text that goes over the end of its line", '{\n  memory: "on\n}', "2:14"],
    ["a text that goes over a line that ends with CR LF", '{\r\n  memory: "on\r\n}', "2:14"],
  ])("%s names file, line and column", async (_name, text, position) => {
    const file = computer.write(join(computer.home, "broken.json5"), text);
    const message = await failure("CONFIG", () => computer.load({ configPath: file }));
    expect(message.startsWith(`${file}:${position}: invalid `)).toBe(true);
    expect(message).not.toMatch("JSON5");
  });

  test("comments, commas at the end, single quotes and a byte order mark are fine", async () => {
    const text = "\uFEFF// mine\n{ agents: { defaults: { memorySearch: { provider: 'none', }, }, }, }";
    const config = await computer.load({ configPath: computer.write(join(computer.home, "c.json5"), text) });
    expect(config.agent("main").memorySearch.provider).toBe("none");
    expect(config.notices).toEqual([]);
  });

  test.each([["[]"], ["5"], ["null"], ['"text"']])("%s in place of the configuration is an error", async (text) => {
    const file = computer.write(join(computer.home, "c.json5"), text);
    const message = await failure("CONFIG", () => computer.load({ configPath: file }));
    expect(message).toMatch(`${file}: the configuration must be an object`);
  });
});

describe("paths and variables in a file", () => {
  test("relative paths start at the folder of the file and ~ is the home folder", async () => {
    const file = computer.write(join(computer.home, "sub", "c.json5"), {
      agents: {
        defaults: {
          workspace: "notes",
          memorySearch: {
            extraPaths: ["../more", "~/papers", { path: "~/books", pattern: "*.md" }],
            local: { modelPath: "hf:someone/model/file.gguf", modelCacheDir: "models" },
            store: { path: "~/index/{agentId}.sqlite", vector: { extensionPath: "./vec0.so" } },
          },
        },
      },
      plugins: { load: { paths: ["./plugin", "/opt/plugin"] } },
    });
    const config = await computer.load({ configPath: file });
    const { workspaceDir, memorySearch } = config.agent("work");
    expect(workspaceDir).toBe(join(computer.home, "sub", "notes"));
    expect(memorySearch.extraPaths).toEqual([
      join(computer.home, "more"),
      join(computer.home, "papers"),
      { path: join(computer.home, "books"), pattern: "*.md" },
    ]);
    expect(memorySearch.local.modelPath).toBe("hf:someone/model/file.gguf");
    expect(memorySearch.local.modelCacheDir).toBe(join(computer.home, "sub", "models"));
    expect(memorySearch.store.path).toBe(join(computer.home, "index", "work.sqlite"));
    expect(memorySearch.store.vector.extensionPath).toBe(join(computer.home, "sub", "vec0.so"));
    expect(config.plugins.load.paths).toEqual([join(computer.home, "sub", "plugin"), "/opt/plugin"]);
    expect(config.plugins.resolveFrom).toBe(join(computer.home, "sub"));
  });

  test("${NAME} is replaced in texts, lists, maps and options, and $${ stands for itself", async () => {
    const file = computer.write(join(computer.home, "c.json5"), {
      agents: {
        defaults: {
          workspace: "${PLACE}/notes",
          memorySearch: { remote: { apiKey: "${KEY}", headers: { "x-team": "a-${TEAM}-b" } }, sources: ["${SOURCE}"] },
        },
      },
      plugins: {
        entries: { mine: { config: { deep: [{ url: "${PLACE}", as: "$${PLACE}", odd: "${no-name} $5" }] } } },
      },
    });
    const env = { ...computer.env, KEY: "k1", TEAM: "red", PLACE: "/srv", SOURCE: "memory" };
    const config = await computer.load({ configPath: file, env });
    const { workspaceDir, memorySearch } = config.agent("main");
    expect(workspaceDir).toBe("/srv/notes");
    expect(memorySearch.remote.apiKey).toBe("k1");
    expect(memorySearch.remote.headers).toEqual({ "x-team": "a-red-b" });
    expect(memorySearch.sources).toEqual(["memory", "journal"]);
    expect(config.plugins.entries["mine"]?.config).toEqual({
      deep: [{ url: "/srv", as: "${PLACE}", odd: "${no-name} $5" }],
    });
  });

  test("a variable that is not set is an error that names the key and the variable", async () => {
    const file = computer.write(join(computer.home, "c.json5"), withKey("models.providers.openai.apiKey", "${NO_KEY}"));
    const message = await failure("CONFIG", () => computer.load({ configPath: file }));
    expect(message).toMatch(`${file}: models.providers.openai.apiKey`);
    expect(message).toMatch("variable NO_KEY");
  });

  test("a text that a variable leaves blank counts as absent", async () => {
    const file = computer.write(join(computer.home, "c.json5"), withKey("models.providers.openai.apiKey", "${EMPTY}"));
    const config = await computer.load({ configPath: file, env: { ...computer.env, EMPTY: "" } });
    expect(config.providers["openai"]).toBeUndefined();
  });

  test("MEMSLOT_WORKSPACE stands in for the default workspace and --workspace for every one", async () => {
    const file = computer.write(join(computer.home, "c.json5"), {
      agents: { defaults: { workspace: "notes" }, list: [{ id: "main" }, { id: "work", workspace: "work" }] },
    });
    const env = { ...computer.env, MEMSLOT_WORKSPACE: "elsewhere" };
    const byVariable = await computer.load({ configPath: file, env });
    expect(byVariable.agents.map((agent) => agent.workspaceDir)).toEqual([
      join(computer.project, "elsewhere"),
      join(computer.home, "work"),
    ]);
    const byOption = await computer.load({ configPath: file, env, workspace: "~/here" });
    const here = join(computer.home, "here");
    expect(byOption.agents.map((agent) => agent.workspaceDir)).toEqual([here, here]);

    const origins = byOption.describe().filter(({ key }) => key.endsWith("workspace"));
    expect(origins).toEqual([
      { key: "agents.defaults.workspace", value: here, origin: "option --workspace" },
      { key: "agents.list[work].workspace", value: here, origin: "option --workspace" },
    ]);
    expect(byVariable.describe()[0]).toEqual({
      key: "agents.defaults.workspace",
      value: join(computer.project, "elsewhere"),
      origin: "env MEMSLOT_WORKSPACE",
    });
  });
});

describe("the default place of the index", () => {
  const storeOf = async (options: Parameters<ConfigHome["load"]>[0]): Promise<string> =>
    (await computer.load(options)).agent("main").memorySearch.store.path;

  test("the workspace that the state folder stands for has the plain name", async () => {
    const plain = join(computer.stateDir, "memory", "main.sqlite");
    expect(await storeOf({})).toBe(plain);
    expect(await storeOf({ workspace: "~/.memslot/workspace" })).toBe(plain);
    computer.write(join(computer.stateDir, "memslot.json5"), withKey("agents.defaults.workspace", "~/notes"));
    expect(await storeOf({})).toBe(plain);
    expect(await storeOf({ workspace: "~/notes" })).toBe(plain);
    mkdirSync(join(computer.home, "notes"));
    symlinkSync("notes", join(computer.home, "link"));
    expect(await storeOf({ workspace: "~/link" })).toBe(plain);
    expect(await storeOf({ configPath: join(computer.stateDir, "memslot.json5") })).toBe(plain);
  });

  test("any other workspace has an index of its own, the same one however it is named", async () => {
    const notes = join(computer.home, "notes");
    mkdirSync(notes);
    symlinkSync(notes, join(computer.home, "link"));
    const config = computer.write(join(computer.project, "c.json5"), withKey("agents.defaults.workspace", notes));
    const store = await storeOf({ workspace: notes });
    expect(store).toMatch(/[/\\]memory[/\\]main-[0-9a-f]{8}\.sqlite$/);
    expect(await storeOf({ env: { ...computer.env, MEMSLOT_WORKSPACE: notes } })).toBe(store);
    expect(await storeOf({ workspace: "~/link" })).toBe(store);
    expect(await storeOf({ configPath: config })).toBe(store);
    expect(await storeOf({ workspace: "~/others" })).not.toBe(store);
  });

  test("a path that is written is used as it is, whatever the workspace", async () => {
    const store = join(computer.home, "x.sqlite");
    computer.write(join(computer.stateDir, "memslot.json5"), withKey("agents.defaults.memorySearch.store.path", store));
    expect(await storeOf({})).toBe(store);
    expect(await storeOf({ workspace: "~/others" })).toBe(store);
  });
});
