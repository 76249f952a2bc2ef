import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, expect, test, vi } from "vitest";
import { type ClientId, clientIds } from "@memslot/core";
import { packageVersion } from "../../src/package-version.ts";
import { createNotes, journalOf, logsOf } from "../hook/run-hook.ts";
import { createSandbox } from "../run-memslot.ts";
import { eventually } from "@memslot/test-tools/wait";

const root = path.join(import.meta.dirname, "../../../..");
const textOf = (name: string): Promise<string> => readFile(path.join(root, name), "utf8");
const page = await textOf("docs/connect.md");

test("docs/connect.md has one command for each client", () => {
  const named = [...page.matchAll(/memslot connect ([a-z-]+) --workspace ~\/notes/gu)].map(([, client]) => client);
  expect(named).toEqual([...clientIds]);
});

test.each(["README.md", "README.zh-CN.md"])("%s has the name that connect takes for each client", async (name) => {
  const named = [...(await textOf(name)).matchAll(/^- \*\*[^*]+\*\* ?[(（]`([a-z-]+)`[)）]/gmu)].map(
    ([, client]) => client,
  );
  expect(named).toEqual([...clientIds]);
});

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
  type: string;
  text: string;
  synthetic?: boolean;
  ignored?: boolean;
}

interface Message {
  info: { id: string; role: string; sessionID?: string; summary?: boolean; time: { created: number } };
  parts: Part[];
}

interface Hooks {
  event(input: { event: { type: string; properties: object } }): Promise<void>;
  "chat.message"(input: { sessionID: string }, output: { message: { id: string }; parts: Part[] }): Promise<void>;
  "experimental.chat.messages.transform"(input: object, output: { messages: Message[] }): Promise<void>;
  "experimental.session.compacting"(input: { sessionID: string }, output: { context: string[] }): Promise<void>;
  dispose(): Promise<void>;
}

type Plugin = (input: { client: object; directory: string }) => Promise<Partial<Hooks>>;

afterEach(() => void vi.unstubAllEnvs());

/** The plugin that connect writes for OpenCode, in a session `ses_1` and its subagent `ses_2`. Others are unknown. */
async function openPlugin() {
  const sandbox = await createNotes();
  // OpenCode's process has the environment of its user; a hook is told its state folder in its line.
  for (const name of ["NODE_COMPILE_CACHE", "MEMSLOT_HOOK_DEADLINE_MS"]) vi.stubEnv(name, sandbox.env[name]);
  await sandbox.runHere(["connect", "opencode"]);
  const file = path.join(sandbox.env["HOME"] ?? "", ".config/opencode/plugins/memslot.js");
  // In place of OpenCode's own rules for what a module is.
  const module = file.replace(/\.js$/u, ".mjs");
  await writeFile(module, await readFile(file, "utf8"));
  const { memslot } = (await import(pathToFileURL(module).href)) as { memslot: Plugin };
  const messages: Message[] = [];
  const sessions: Record<string, object> = { ses_1: {}, ses_2: { parentID: "ses_1" } };
  const get = async ({ path: { id } }: { path: { id: string } }) => ({ data: sessions[id], error: {} });
  const client = { session: { get, messages: async () => ({ data: messages }) } };
  const load = async () => (await memslot({ client, directory: sandbox.cwd })) as Hooks;
  const send = (hooks: Hooks, type: string, properties: object) => hooks.event({ event: { type, properties } });
  return { sandbox, messages, load, send };
}

const part: Part = { id: "prt_1", type: "text", text: "what is the harbour code of the Lisbon marina?" };
const message = (id: string, role: string, text: string, more = {}): Message => ({
  info: { id, role, sessionID: "ses_1", time: { created: Date.now() }, ...more },
  parts: [{ ...part, text }],
});
/** What a model is sent of these messages. */
const sentOf = (messages: readonly Message[]): string[] =>
  messages.flatMap(({ parts }) => parts.flatMap(({ ignored, text }) => (ignored ? [] : text)));

test("the plugin for OpenCode gives notes to the model that answers the user, and to no other", async () => {
  const { sandbox, messages, load, send } = await openPlugin();
  const hooks = await load();
  expect(await load()).toEqual({});

  const parts = [part];
  await hooks["chat.message"]({ sessionID: "ses_1" }, { message: { id: "msg_1" }, parts });
  const first = { ...message("msg_1", "user", ""), parts };
  const main = [first];
  expect(sentOf(main)).toEqual([part.text]);
  // OpenCode hands the same messages to a model that writes a title, in a task that it has already scheduled.
  const title = new Promise<Message[]>((resolve) => void setImmediate(() => resolve([...main])));
  await hooks["experimental.chat.messages.transform"]({}, { messages: main });
  expect(sentOf(main)).toEqual([expect.stringContaining("port 5544"), part.text, expect.stringContaining("HX-19")]);
  expect(sentOf(await title)).toEqual([part.text]);

  messages.push(message("msg_8", "user", "Subagent, sail."));
  for (const sessionID of ["ses_2", "ses_3"]) {
    const asked = [part];
    await hooks["chat.message"]({ sessionID }, { message: { id: "msg_9" }, parts: asked });
    const other = [message("msg_9", "user", "Sail.", { sessionID })];
    await hooks["experimental.chat.messages.transform"]({}, { messages: other });
    expect([asked.length, sentOf(other)]).toEqual([1, ["Sail."]]);
    await send(hooks, "session.idle", { sessionID });
    await hooks["experimental.session.compacting"]({ sessionID }, { context: [] });
    await send(hooks, "session.deleted", { info: { id: sessionID } });
  }
  expect(`${await journalOf(sandbox)}${await logsOf(sandbox)}`).toBe("");
});

test("the plugin for OpenCode stores messages, and after a compaction the model gets the number of dropped ones", async () => {
  const { sandbox, messages, load, send } = await openPlugin();
  const hooks = await load();
  await hooks["chat.message"]({ sessionID: "ses_1" }, { message: { id: "msg_1" }, parts: [] });
  messages.push(message("msg_1", "user", "We sail to Porto in May."), message("msg_2", "assistant", "Half an answ"));
  messages[0]?.parts.push({ ...part, text: "The code is HX-19.", synthetic: true });
  // A hook that fails answers nothing: the next turn brings what it did not take.
  const journal = path.join(sandbox.stateDir, "agents", "main", "journal");
  await mkdir(path.dirname(journal), { recursive: true });
  await rm(journal, { recursive: true, force: true });
  await writeFile(journal, "no folder");
  await send(hooks, "session.idle", { sessionID: "ses_1" });
  await rm(journal);
  messages.push(message("msg_3", "user", "And back in June."));
  await send(hooks, "session.idle", { sessionID: "ses_1" });
  expect(await journalOf(sandbox)).toContain("And back in June.");
  expect(await journalOf(sandbox)).toContain("We sail to Porto in May.");
  expect(await journalOf(sandbox)).not.toMatch(/Half an answ|HX-19/u);

  await hooks["experimental.session.compacting"]({ sessionID: "ses_1" }, { context: [] });
  expect(await logsOf(sandbox)).toContain("We sail to Porto in May.");
  const summarized = [message("msg_1", "user", "We sail to Porto in May.")];
  await hooks["experimental.chat.messages.transform"]({}, { messages: summarized });
  expect(sentOf(summarized)).toEqual(["We sail to Porto in May."]);
  const summary = message("msg_4", "assistant", "A voyage.", {
    summary: true,
    time: { created: Date.now(), completed: 1 },
  });
  const after = [message("msg_5", "user", "What did we do so far?"), summary];
  await hooks["experimental.chat.messages.transform"]({}, { messages: after });
  expect(sentOf(after)).toEqual([
    expect.stringContaining("dropped 2 messages from"),
    "What did we do so far?",
    "A voyage.",
  ]);

  // The summary is the program's. OpenCode disposes of a plugin when it ends, and before it loads it again.
  messages.push(summary, message("msg_6", "user", "The walrus sails too."));
  await send(hooks, "session.idle", { sessionID: "ses_1" });
  expect(await journalOf(sandbox)).not.toContain("A voyage.");
  await hooks.dispose();
  await eventually(async () => (await logsOf(sandbox)).includes("walrus"), "the digest of the end is written");
  // It sends all messages again.
  await send(await load(), "session.idle", { sessionID: "ses_1" });
  expect((await journalOf(sandbox)).split("The walrus sails too.")).toHaveLength(2);
});
