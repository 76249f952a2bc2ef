import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type ClientId, clientIds } from "@memslot/core";
import { packageVersion } from "../../src/package-version.ts";
import { createNotes, journalOf, logsOf } from "../hook/run-hook.ts";
import { createSandbox } from "../run-memslot.ts";
import given from "../data/clients.json" with { type: "json" };

const root = path.join(import.meta.dirname, "../../../..");
const pages = await Promise.all(
  ["docs/connect.md", "README.md", "README.zh-CN.md"].map(async (name) => ({
    name,
    text: await readFile(path.join(root, name), "utf8"),
  })),
);

describe.each(pages)("$name", ({ text }) => {
  test("has one command for each client", () => {
    const named = [...text.matchAll(/memslot connect ([a-z-]+) --workspace ~\/notes/gu)].map(([, client]) => client);
    expect(named).toEqual([...clientIds]);
  });
});

const page = pages[0]?.text ?? "";

/** Each command, with the paths of the home folder that its list item names. */
const paragraphs = [...page.matchAll(/^- \*\*.+`(memslot connect ([a-z-]+)[^`]*)`: (.*)$/gmu)].map(
  ([, line = "", client = "", paragraph = ""]) => ({
    client,
    words: line.split(" ").slice(1),
    paths: [...paragraph.matchAll(/`(~\/[^`]+)`/gu)].map(([, file = ""]) => file),
  }),
);

test.each(paragraphs)("the command for $client works as written, and writes what is said", async ({ words, paths }) => {
  const sandbox = await createSandbox();
  const home = sandbox.env["HOME"] ?? "";
  await mkdir(path.join(home, "notes"), { recursive: true });
  const { exitCode, stdout } = await sandbox.run([...words, "--dry-run", "--json"]);
  expect(exitCode).toBe(0);
  const { changes } = JSON.parse(stdout) as { changes: { path: string }[] };
  const written = changes.map(({ path: file }) => file.replace(home, "~").replaceAll("\\", "/"));
  for (const file of paths)
    expect(
      written.some((each) => each === file || each.startsWith(`${file}/`)),
      file,
    ).toBe(true);
});

test("names each of its options as the help does", async () => {
  const sandbox = await createSandbox();
  const { stdout } = await sandbox.run(["connect", "--help"]);
  const options = [...page.matchAll(/^\| `(--[a-z-]+)/gmu)].map(([, option = ""]) => option);
  expect(options.length).toBeGreaterThan(8);
  for (const option of options) expect(stdout).toContain(option);
});

const integrations = path.join(root, "integrations");

async function json(...parts: string[]): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(path.join(...parts), "utf8")) as Record<string, unknown>;
}

/** What `memslot connect` writes, with the command of an installation on the PATH in place of its own. */
async function connected(client: ClientId, ...files: string[]): Promise<Record<string, unknown>> {
  const sandbox = await createSandbox();
  await sandbox.runHere(["connect", client]);
  const texts = await Promise.all(files.map((file) => readFile(path.join(sandbox.env["HOME"] ?? "", file), "utf8")));
  const values = texts.map((text) => JSON.parse(text) as Record<string, unknown>);
  return JSON.parse(
    JSON.stringify(Object.assign({}, ...values), (key, value: unknown) =>
      key === "command" && typeof value === "string" && value.includes(" hook ") ? `memslot hook ${client}` : value,
    ),
  ) as Record<string, unknown>;
}

test("the plugin for Claude Code registers what memslot connect does", async () => {
  const { hooks } = await connected("claude-code", ".claude/settings.json");
  const folder = path.join(integrations, "claude-code");
  expect(await json(folder, "hooks/hooks.json")).toEqual({ hooks });
  expect(await json(folder, ".mcp.json")).toEqual({
    mcpServers: { memslot: { type: "stdio", command: "memslot", args: ["mcp"], alwaysLoad: true } },
  });
  expect(await json(folder, ".claude-plugin/plugin.json")).toMatchObject({
    name: "memslot",
    version: packageVersion(),
  });
  const { plugins } = (await json(root, ".claude-plugin/marketplace.json")) as { plugins: { source: string }[] };
  for (const { source } of plugins) expect((await stat(path.join(root, source))).isDirectory()).toBe(true);
});

test("the extension for Gemini registers what memslot connect does", async () => {
  const { hooks } = await connected("gemini", ".gemini/settings.json");
  const folder = path.join(integrations, "gemini");
  expect(await json(folder, "hooks/hooks.json")).toEqual({ hooks });
  const extension = await json(folder, "gemini-extension.json");
  expect(extension).toMatchObject({
    name: "memslot",
    version: packageVersion(),
    mcpServers: { memslot: { command: "memslot", args: ["mcp"] } },
  });
  expect((await stat(path.join(folder, String(extension["contextFileName"])))).isFile()).toBe(true);
});

test("what they tell a model is what memslot connect tells it", async () => {
  const sandbox = await createSandbox();
  await sandbox.runHere(["connect", "gemini"]);
  const written = await readFile(path.join(sandbox.env["HOME"] ?? "", ".gemini/GEMINI.md"), "utf8");
  const lines = written.trim().split("\n").slice(1, -1);
  for (const file of ["gemini/GEMINI.md", "claude-code/skills/memory/SKILL.md"]) {
    const text = await readFile(path.join(integrations, file), "utf8");
    for (const line of lines) expect(text.split("\n")).toContain(line);
  }
});

interface Part {
  id: string;
  sessionID: string;
  messageID: string;
  type: string;
  text: string;
  synthetic?: boolean;
}

interface Hooks {
  event(input: { event: { type: string; properties: object } }): Promise<void>;
  "chat.message"(input: { sessionID: string }, output: { message: { id: string }; parts: Part[] }): Promise<void>;
  "experimental.chat.system.transform"(input: { sessionID?: string }, output: { system: string[] }): Promise<void>;
  "experimental.session.compacting"(input: { sessionID: string }, output: { context: string[] }): Promise<void>;
}

type Plugin = (input: { client: object; directory: string }) => Promise<Partial<Hooks>>;

afterEach(() => void vi.unstubAllEnvs());

test("the plugin that is written for OpenCode shows notes, keeps what is said, and is one however often it is loaded", async () => {
  const sandbox = await createNotes();
  // OpenCode's process has the environment of its user; a hook is told its state folder in its line.
  for (const name of ["NODE_COMPILE_CACHE", "MEMSLOT_HOOK_DEADLINE_MS"]) vi.stubEnv(name, sandbox.env[name]);
  await sandbox.runHere(["connect", "opencode"]);
  const file = path.join(sandbox.env["HOME"] ?? "", ".config/opencode/plugins/memslot.js");
  // In place of OpenCode's own rules for what a module is.
  const module = file.replace(/\.js$/u, ".mjs");
  await writeFile(module, await readFile(file, "utf8"));
  const { memslot } = (await import(pathToFileURL(module).href)) as { memslot: Plugin };

  const messages: object[] = [];
  const parents: Record<string, string> = { ses_2: "ses_1" };
  const get = async ({ path: { id } }: { path: { id: string } }) => ({ data: { id, parentID: parents[id] } });
  const client = { session: { get, messages: async () => ({ data: messages }) } };
  const hooks = (await memslot({ client, directory: sandbox.cwd })) as Hooks;
  expect(await memslot({ client, directory: sandbox.cwd })).toEqual({});

  const part: Part = given.part;
  const parts = [part];
  await hooks["chat.message"]({ sessionID: "ses_1" }, { message: { id: "msg_1" }, parts });
  expect(parts).toEqual([
    part,
    { ...part, id: "prt_1m", synthetic: true, text: expect.stringContaining("HX-19") as string },
  ]);
  const system = ["You are OpenCode."];
  await hooks["experimental.chat.system.transform"]({ sessionID: "ses_1" }, { system });
  expect(system).toEqual(["You are OpenCode.", expect.stringContaining("port 5544")]);
  for (const prompt of given.system) {
    const other = [prompt];
    await hooks["experimental.chat.system.transform"]({ sessionID: "ses_1" }, { system: other });
    expect(other).toEqual([prompt]);
  }
  // A helper asks in the user's place.
  const ofHelper = [{ ...part, sessionID: "ses_2" }];
  await hooks["chat.message"]({ sessionID: "ses_2" }, { message: { id: "msg_9" }, parts: ofHelper });
  const none: string[] = [];
  await hooks["experimental.chat.system.transform"]({ sessionID: "ses_2" }, { system: none });
  expect([ofHelper.length, none]).toEqual([1, []]);
  messages.push({
    info: { id: "msg_8", role: "user", time: { created: 1 } },
    parts: [{ ...part, text: "Helper, sail." }],
  });
  await hooks.event({ event: { type: "session.idle", properties: { sessionID: "ses_2" } } });
  await hooks["experimental.session.compacting"]({ sessionID: "ses_2" }, { context: [] });
  expect(`${await journalOf(sandbox)}${await logsOf(sandbox)}`).toBe("");
  messages.length = 0;

  messages.push(
    {
      info: { id: "msg_1", role: "user", time: { created: 1 } },
      parts: [{ ...part, text: "We sail to Porto in May." }, parts[1]],
    },
    { info: { id: "msg_2", role: "assistant", time: { created: 2 } }, parts: [{ type: "text", text: "Half an answ" }] },
  );
  // A hook that fails answers nothing: the next turn brings what it did not take.
  const journal = path.join(sandbox.stateDir, "agents", "main", "journal");
  await mkdir(path.dirname(journal), { recursive: true });
  await rm(journal, { recursive: true, force: true });
  await writeFile(journal, "no folder");
  await hooks.event({ event: { type: "session.idle", properties: { sessionID: "ses_1" } } });
  await rm(journal);
  messages.push({
    info: { id: "msg_3", role: "user", time: { created: 3 } },
    parts: [{ type: "text", text: "And back in June." }],
  });
  await hooks.event({ event: { type: "session.idle", properties: { sessionID: "ses_1" } } });
  expect(await journalOf(sandbox)).toContain("And back in June.");
  expect(await journalOf(sandbox)).toContain("We sail to Porto in May.");
  expect(await journalOf(sandbox)).not.toMatch(/Half an answ|HX-19/u);
  await hooks["experimental.session.compacting"]({ sessionID: "ses_1" }, { context: [] });
  expect(await logsOf(sandbox)).toContain("We sail to Porto in May.");
  await hooks.event({ event: { type: "session.compacted", properties: { sessionID: "ses_1" } } });
  const after: string[] = [];
  await hooks["experimental.chat.system.transform"]({ sessionID: "ses_1" }, { system: after });
  expect(after.join("\n")).toContain("dropped 2 messages from");
});
