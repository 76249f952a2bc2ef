import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { type LoadConfigOptions, type MemslotConfig, parseConfig } from "@memslot/core";
import { resolveStateDir } from "@memslot/core/host";
import { beforeEach, describe, expect, test } from "vitest";
import { type ConfigHome, createConfigHome, failure, withKey } from "./support/config-home.ts";

let computer: ConfigHome;

beforeEach(() => {
  computer = createConfigHome();
});

const results = (maxResults: number): unknown => withKey("agents.defaults.memorySearch.query.maxResults", maxResults);
const refusal = (options: LoadConfigOptions = {}): Promise<string> => failure("CONFIG", () => computer.load(options));

/** Loads a file with this content, which is in the home folder. */
const loadFile = (content: unknown, env: Record<string, string> = {}): Promise<MemslotConfig> =>
  computer.load({
    configPath: computer.write(join(computer.home, "sub/c.json5"), content),
    env: { ...computer.env, ...env },
  });

describe("where the configuration is looked up", () => {
  test("without any file every key has its default, and blank variables count as not set", async () => {
    const blank = { MEMSLOT_HOME: " ", MEMSLOT_CONFIG: "", MEMSLOT_WORKSPACE: "" };
    for (const env of [computer.env, { ...computer.env, ...blank }]) {
      const config = await computer.load({ env });
      expect(config).toMatchObject({ trusted: true, notices: [], stateDir: computer.stateDir });
      expect([config.file, config.plugins.resolveFrom]).toEqual([undefined, undefined]);
      const workspaceDir = join(computer.stateDir, "workspace");
      expect(config.agents).toMatchObject([{ id: "main", workspaceDir }]);
    }
  });

  test("the option comes first, then the variable, the current folder and the state folder", async () => {
    const places = [
      join(computer.stateDir, "memslot.json5"),
      join(computer.project, "memslot.json5"),
      join(computer.home, "named.json5"),
      join(computer.project, "other.json5"),
    ];
    const env = { ...computer.env, MEMSLOT_CONFIG: places[2] ?? "" };
    const ways: LoadConfigOptions[] = [{}, {}, { env }, { env, configPath: "other.json5" }];
    for (const [index, options] of ways.entries()) {
      const file = computer.write(places[index] ?? "", results(index + 1));
      const config = await computer.load(options);
      expect([config.file, config.agent("main").memorySearch.query.maxResults]).toEqual([file, index + 1]);
    }
  });

  test("MEMSLOT_HOME moves the state folder, its configuration and the default workspace", async () => {
    const stateDir = join(computer.project, "state");
    const file = computer.write(join(stateDir, "memslot.json5"), results(5));
    const config = await computer.load({ env: { ...computer.env, MEMSLOT_HOME: "state" } });
    expect(config).toMatchObject({ file, stateDir, agents: [{ workspaceDir: join(stateDir, "workspace") }] });
  });

  test.each([
    [{ HOME: "/h", USERPROFILE: "/u" }, "/h/.memslot"],
    [{ USERPROFILE: "/u" }, "/u/.memslot"],
    [{}, join(homedir(), ".memslot")],
    [{ HOME: "/h", MEMSLOT_HOME: "~/state" }, "/h/state"],
  ])("the state folder with the variables %j is %s", (env, stateDir) => {
    expect(resolveStateDir({ env })).toBe(stateDir);
  });
});

describe("a file that cannot be used is an error that names it", () => {
  test("a named file that is missing, and a blank option in place of some folder", async () => {
    const missing = join(computer.project, "missing.json5");
    expect(await refusal({ configPath: missing })).toMatch(`${missing} does not exist`);
    const env = { ...computer.env, MEMSLOT_CONFIG: missing };
    expect(await refusal({ env })).toMatch(`${missing} does not exist`);
    expect(await refusal({ configPath: " " })).toMatch("--config is blank");
    expect(await failure("INVALID_ARGUMENT", () => computer.load({ workspace: "" }))).toMatch("--workspace is blank");
  });

  test("a folder, a link in a circle, and a file below a file", async () => {
    const place = join(computer.project, "memslot.json5");
    expect(await refusal({ configPath: computer.home })).toMatch("is a folder");
    // A link to itself cannot be read by anybody, root included.
    symlinkSync(place, place);
    expect(await refusal()).toMatch(`${place} cannot be read: ELOOP`);
    const below = join(computer.write(join(computer.home, "file"), ""), "memslot.json5");
    expect(await refusal({ configPath: below })).toMatch(`${below} cannot be read`);
    const other = join(computer.home, "other");
    mkdirSync(join(other, "memslot.json5"), { recursive: true });
    expect(await refusal({ cwd: other })).toMatch("is a folder");
  });

  test("a file that is no text, far too large, or a device", async () => {
    const configPath = join(computer.home, "memslot.json5");
    writeFileSync(configPath, Buffer.from([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]));
    expect(await refusal({ configPath })).toMatch(`${configPath} is not UTF-8 text`);
    writeFileSync(configPath, " ".repeat(1024 * 1024 + 1));
    expect(await refusal({ configPath })).toMatch("larger than 1 MiB");
    expect(await refusal({ configPath: "/dev/null" })).toMatch("is not a file");
  });

  test.each<[string, string, string]>([
    ["a missing colon", "{\n  agents: {},\n  memory {}\n}", ":3:10: invalid "],
    ["an empty file", "", ":1:1: invalid "],
    ["a text that goes over a line that ends with CR LF", '{\r\n  memory: "on\r\n}', ":2:14: invalid "],
    ["a list", "[]", ": the configuration must be an object"],
    ["null", "null", ": the configuration must be an object"],
  ])("%s, with file, line and column", async (_name, text, words) => {
    const configPath = computer.write(join(computer.home, "broken.json5"), text);
    const message = await refusal({ configPath });
    expect(message.startsWith(configPath + words)).toBe(true);
    expect(message).not.toMatch("JSON5");
  });

  test("but not comments, commas at the end, single quotes and a byte order mark", async () => {
    const text = "\uFEFF// mine\n{ agents: { defaults: { memorySearch: { provider: 'none', }, }, }, }";
    const config = await loadFile(text);
    expect([config.agent("main").memorySearch.provider, config.notices]).toEqual(["none", []]);
  });
});

describe("paths and variables in a file", () => {
  test("relative paths start at the folder of the file and ~ is the home folder", async () => {
    const memorySearch = {
      extraPaths: ["../more", "~/papers", { path: "~/books", pattern: "*.md" }],
      local: { modelPath: "hf:someone/model/file.gguf", modelCacheDir: "models" },
      store: { path: "~/index/{agentId}.sqlite", vector: { extensionPath: "./vec0.so" } },
    };
    const config = await loadFile({
      agents: { defaults: { workspace: "notes", memorySearch } },
      plugins: { load: { paths: ["./plugin", "/opt/plugin"] } },
    });
    const home = (...parts: string[]): string => join(computer.home, ...parts);
    const extraPaths = [home("more"), home("papers"), { path: home("books"), pattern: "*.md" }];
    expect(config.agent("work")).toMatchObject({
      workspaceDir: home("sub/notes"),
      memorySearch: {
        extraPaths,
        local: { modelPath: "hf:someone/model/file.gguf", modelCacheDir: home("sub/models") },
        store: { path: home("index/work.sqlite"), vector: { extensionPath: home("sub/vec0.so") } },
      },
    });
    expect(config.plugins.load.paths).toEqual([home("sub/plugin"), "/opt/plugin"]);
    expect(config.plugins.resolveFrom).toBe(home("sub"));
  });

  test("${NAME} is replaced in texts, lists, maps and options, and $${ stands for itself", async () => {
    const memorySearch = { remote: { apiKey: "${KEY}", headers: { "x-team": "a-${TEAM}-b" } }, sources: ["${SOURCE}"] };
    const deep = [{ url: "${PLACE}", as: "$${PLACE}", odd: "${no-name} $5" }];
    const config = await loadFile(
      {
        agents: { defaults: { workspace: "${PLACE}/notes", memorySearch } },
        plugins: { entries: { mine: { config: { deep } } } },
      },
      { KEY: "k1", TEAM: "red", PLACE: "/srv", SOURCE: "memory" },
    );
    expect(config.agent("main")).toMatchObject({
      workspaceDir: "/srv/notes",
      memorySearch: { remote: { apiKey: "k1" }, sources: ["memory", "journal"] },
    });
    expect(config.agent("main").memorySearch.remote.headers).toEqual({ "x-team": "a-red-b" });
    const options = { deep: [{ url: "/srv", as: "${PLACE}", odd: "${no-name} $5" }] };
    expect(config.plugins.entries["mine"]?.config).toEqual(options);
  });

  test("a variable that is not set is an error that names key and variable, and a blank one counts as absent", async () => {
    const content = withKey("models.providers.openai.apiKey", "${A_KEY}");
    const message = await failure("CONFIG", () => loadFile(content));
    expect(message).toMatch(`${join(computer.home, "sub/c.json5")}: models.providers.openai.apiKey`);
    expect(message).toMatch("variable A_KEY");
    expect((await loadFile(content, { A_KEY: "" })).providers["openai"]).toBeUndefined();
  });

  test("MEMSLOT_WORKSPACE stands in for the default workspace and --workspace for every one", async () => {
    const agents = { defaults: { workspace: "notes" }, list: [{ id: "main" }, { id: "work", workspace: "work" }] };
    const configPath = computer.write(join(computer.home, "c.json5"), { agents });
    const env = { ...computer.env, MEMSLOT_WORKSPACE: "elsewhere" };
    const of = ({ agents: loaded }: MemslotConfig): string[] => loaded.map(({ workspaceDir }) => workspaceDir);
    const originsOf = (config: MemslotConfig): unknown =>
      config.describe().filter(({ key }) => key.endsWith("workspace"));
    const key = "agents.defaults.workspace";
    const byVariable = await computer.load({ configPath, env });
    const elsewhere = join(computer.project, "elsewhere");
    expect(of(byVariable)).toEqual([elsewhere, join(computer.home, "work")]);
    expect(originsOf(byVariable)).toContainEqual({ key, value: elsewhere, origin: "env MEMSLOT_WORKSPACE" });
    const byOption = await computer.load({ configPath, env, workspace: "~/here" });
    const here = { value: join(computer.home, "here"), origin: "option --workspace" };
    expect(of(byOption)).toEqual([here.value, here.value]);
    expect(originsOf(byOption)).toEqual([
      { key, ...here },
      { key: "agents.list[work].workspace", ...here },
    ]);
  });
});

describe("the default place of the index", () => {
  const memorySearch = { workspaceId: "team" };
  const storeOf = async (options: LoadConfigOptions): Promise<string> =>
    (await computer.load(options)).agent("main").memorySearch.store.path;

  test("has the plain name for the workspace that the state folder stands for", async () => {
    const plain = join(computer.stateDir, "memory", "main.sqlite");
    for (const options of [{}, { workspace: "~/.memslot/workspace" }]) expect(await storeOf(options)).toBe(plain);
    const own = join(computer.stateDir, "memslot.json5");
    computer.write(own, withKey("agents.defaults.workspace", "~/notes"));
    mkdirSync(join(computer.home, "notes"));
    symlinkSync("notes", join(computer.home, "link"));
    for (const options of [{}, { workspace: "~/notes" }, { workspace: "~/link" }, { configPath: own }])
      expect(await storeOf(options)).toBe(plain);
  });

  test("is another one for any other workspace, the same however that is named", async () => {
    const notes = join(computer.home, "notes");
    mkdirSync(notes);
    symlinkSync(notes, join(computer.home, "link"));
    const configPath = computer.write(join(computer.project, "c.json5"), withKey("agents.defaults.workspace", notes));
    const store = await storeOf({ workspace: notes });
    expect(store).toMatch(/[/\\]memory[/\\]main-[0-9a-f]{8}\.sqlite$/);
    const env = { ...computer.env, MEMSLOT_WORKSPACE: notes };
    for (const options of [{ env }, { workspace: "~/link" }, { configPath }])
      expect(await storeOf(options)).toBe(store);
    expect(await storeOf({ workspace: "~/others" })).not.toBe(store);
  });

  test.each<[string, string | undefined, object, LoadConfigOptions]>([
    ["the usual workspace", "own", {}, {}],
    ["its own workspace under another path", "own", { workspace: "~/notes" }, {}],
    ["a folder in place of it", undefined, { workspace: "~/notes" }, { workspace: "~/others" }],
    ["the workspace that an id stands beside", "team", { workspace: "~/notes", memorySearch }, {}],
    ["the same, named again", "team", { workspace: "~/notes", memorySearch }, { workspace: "~/notes" }],
    ["a folder in place of that one", undefined, { workspace: "~/notes", memorySearch }, { workspace: "~/others" }],
    ["the only folder that is named", "team", { memorySearch }, { workspace: "~/others" }],
  ])("names %s in a shared place: %s", async (_what, id, defaults, options) => {
    const file = join(computer.stateDir, "memslot.json5");
    computer.write(file, { agents: { defaults } });
    const load = async (): Promise<unknown> => (await computer.load(options)).agent("main").memorySearch.workspaceId;
    expect(await load()).toBe(id);
    const given = parseConfig({ agents: { defaults } }, { ...options, ...computer });
    expect(given.agent("main").memorySearch.workspaceId, "a configuration of a program says the same").toBe(id);
  });
});
