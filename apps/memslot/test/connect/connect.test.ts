import { chmod, mkdir, readFile, readdir, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { parse as parseJson } from "jsonc-parser";
import { parse as parseToml } from "smol-toml";
import { describe, expect, test } from "vitest";
import { type ClientId, clientIds } from "../../src/connect/client.ts";
import { isOwnHook } from "../../src/connect/own-handler.ts";
import { type Sandbox, createSandbox } from "../run-memslot.ts";
import { existingFiles } from "./existing-files.ts";

interface Answer {
  ok: boolean;
  state: string;
  changes: { path: string; what: string; state: string; diff: string[] }[];
  refused: { path: string; reason: string; line?: number }[];
  notes: string[];
}

async function connect(sandbox: Sandbox, client: ClientId, ...more: string[]): Promise<Answer> {
  const { stdout, stderr } = await sandbox.runHere(["connect", client, "--json", ...more]);
  expect(stdout, stderr).not.toBe("");
  return JSON.parse(stdout) as Answer;
}

const homeOf = (sandbox: Sandbox): string => sandbox.env["HOME"] ?? "";

async function put(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text);
}

/** What a file says, beside what is of this program. */
function others(file: string, text: string): unknown {
  if (file.endsWith(".md"))
    return text
      .replace(/<!-- memslot connect: begin[^]*end -->/u, "")
      .replaceAll(/\s+/gu, " ")
      .trim();
  const bare = text.replace(/^\uFEFF/u, "");
  const value = (
    file.endsWith(".toml")
      ? JSON.parse(
          JSON.stringify(parseToml(bare, { integersAsBigInt: "asNeeded" }), (_, v: unknown) =>
            typeof v === "bigint" ? String(v) : v,
          ),
        )
      : (parseJson(bare, [], { allowTrailingComma: true }) ?? {})
  ) as Record<string, Record<string, unknown>>;
  for (const group of ["mcpServers", "mcp_servers", "servers", "context_servers", "mcp"]) {
    if (value[group] === undefined) continue;
    delete value[group]["memslot"];
    if (Object.keys(value[group]).length === 0) delete value[group];
  }
  const hooks = value["hooks"] ?? {};
  for (const [event, items] of Object.entries(hooks)) {
    const left = (items as unknown[]).filter((item) => !isOwnHook(item));
    if (left.length === 0) delete hooks[event];
    else hooks[event] = left;
  }
  if (Object.keys(hooks).length === 0) delete value["hooks"];
  return value;
}

const comments = (text: string): string[] => text.match(/\/\/.*|\/\*.*?\*\/|# .*/gu) ?? [];

describe.each(existingFiles)("$client: $name", (existing) => {
  async function prepare(): Promise<{ sandbox: Sandbox; file: string; scope: string[]; before: Buffer }> {
    const sandbox = await createSandbox();
    const file = path.join(existing.project ? sandbox.cwd : homeOf(sandbox), existing.path);
    if (existing.link) {
      const real = path.join(homeOf(sandbox), "dotfiles", path.basename(existing.path));
      await put(real, existing.text);
      await mkdir(path.dirname(file), { recursive: true });
      await symlink(path.relative(path.dirname(file), real), file);
    } else await put(file, existing.text);
    await chmod(file, 0o640);
    return { sandbox, file, scope: existing.project ? ["--project"] : [], before: await readFile(file) };
  }

  test("only what is ours is added, and taking it out gives the bytes back", async () => {
    const { sandbox, file, scope, before } = await prepare();
    const answer = await connect(sandbox, existing.client, ...scope);
    expect(answer).toMatchObject({ ok: true, state: "written", refused: [] });

    const after = await readFile(file, "utf8");
    expect(after).not.toBe(existing.text);
    expect(others(file, after)).toEqual(others(file, existing.text));
    for (const comment of comments(existing.text)) expect(after).toContain(comment.trimEnd());
    if (existing.text.includes("\r\n")) expect(after.replaceAll("\r\n", "")).not.toContain("\n");
    expect(after.startsWith("\uFEFF")).toBe(existing.text.startsWith("\uFEFF"));
    expect((await stat(file)).mode & 0o777).toBe(0o640);
    if (existing.link) expect(await readlink(file)).toContain("dotfiles");

    expect(await connect(sandbox, existing.client, ...scope)).toMatchObject({ state: "unchanged" });
    expect(await readFile(file, "utf8")).toBe(after);

    expect(await connect(sandbox, existing.client, "--remove", ...scope)).toMatchObject({ ok: true, state: "written" });
    expect((await readFile(file)).equals(before)).toBe(true);
    if (existing.link) expect(await readlink(file)).toContain("dotfiles");
  });

  test("what somebody else has added since stays when it is taken out", async () => {
    const { sandbox, file, scope } = await prepare();
    await connect(sandbox, existing.client, ...scope);
    const text = await readFile(file, "utf8");
    const added = file.endsWith(".md")
      ? `${text}\nAdded later.\n`
      : file.endsWith(".toml")
        ? `${text}\n[added]\nlater = true\n`
        : text.replace("{", '{ "added": "later",');
    await writeFile(file, added);

    expect(await connect(sandbox, existing.client, ...scope)).toMatchObject({ ok: true });
    expect(await readFile(file, "utf8")).toBe(added);
    await connect(sandbox, existing.client, "--remove", ...scope);
    const left = await readFile(file, "utf8");
    expect(left).not.toContain("memslot");
    expect(left).toMatch(/added|Added/u);
    expect(others(file, left)).toEqual(others(file, added));
  });
});

test("there are at least thirty files", () => expect(existingFiles.length).toBeGreaterThanOrEqual(30));

test.each(clientIds)("%s: what was made for it is gone when it is taken out, folders too", async (client) => {
  const sandbox = await createSandbox();
  await mkdir(homeOf(sandbox));
  const answer = await connect(sandbox, client);
  expect(answer).toMatchObject({ ok: true, state: "written", refused: [] });
  expect(answer.changes.map(({ what }) => what)).toContain("server");
  for (const { path: file } of answer.changes) expect((await stat(file)).size).toBeGreaterThan(0);
  await connect(sandbox, client, "--remove");
  expect(await readdir(homeOf(sandbox), { recursive: true })).toEqual([]);
  expect(await readdir(path.join(sandbox.stateDir, "connections"))).toEqual([]);
});

test.each<[ClientId, string, string, number, RegExp]>([
  ["claude-code", ".claude/settings.json", '{\n  "a": 1,\n  "b": }\n', 3, /no JSON/u],
  ["codex", ".codex/config.toml", "a = 1\nb = = 2\n", 2, /no TOML/u],
  ["cursor", ".cursor/mcp.json", '{\n  "mcpServers": []\n}', 2, /mcpServers is no object/u],
  [
    "gemini",
    ".gemini/settings.json",
    '{\n  "hooks": {\n    "SessionStart": {}\n  }\n}',
    3,
    /hooks.SessionStart is no list/u,
  ],
  ["zed", ".config/zed/settings.json", '{"context_servers": {},\n"context_servers": {}}', 2, /stands twice/u],
])(
  "%s: a file that cannot be edited is left alone with its line, and the others too",
  async (client, relPath, text, line, reason) => {
    const sandbox = await createSandbox();
    const file = path.join(homeOf(sandbox), relPath);
    await put(file, text);
    const answer = await connect(sandbox, client);
    expect(answer).toMatchObject({ ok: false, state: "refused", refused: [{ path: file, line }] });
    expect(answer.refused[0]?.reason).toMatch(reason);
    const entries = await readdir(homeOf(sandbox), { recursive: true, withFileTypes: true });
    expect(entries.filter((entry) => entry.isFile()).map(({ name }) => name)).toEqual([path.basename(relPath)]);
    expect(await readFile(file, "utf8")).toBe(text);
    const { exitCode, stderr } = await sandbox.runHere(["connect", client]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`${file}:${line} is left alone`);
  },
);

test("a read-only file is said and left alone, also for root", async () => {
  const sandbox = await createSandbox();
  const file = path.join(homeOf(sandbox), ".cursor", "mcp.json");
  await put(file, "{}");
  await chmod(file, 0o444);
  expect(await connect(sandbox, "cursor")).toMatchObject({
    ok: false,
    refused: [{ path: file, reason: "it is read-only" }],
  });
  expect(await readFile(file, "utf8")).toBe("{}");
});

test("another table of the same name in a TOML is somebody's own", async () => {
  const sandbox = await createSandbox();
  await put(path.join(homeOf(sandbox), ".codex", "config.toml"), '[mcp_servers.memslot]\ncommand = "mine"\n');
  expect(await connect(sandbox, "codex")).toMatchObject({
    ok: false,
    refused: [{ reason: expect.stringContaining("there already") as string }],
  });
});

test("--dry-run shows the diff and writes nothing; secrets around it are not shown", async () => {
  const sandbox = await createSandbox();
  const file = path.join(homeOf(sandbox), ".cursor", "mcp.json");
  const text =
    '{\n  "mcpServers": {\n    "a": { "command": "a", "env": { "KEY": "ghp_16C7e42F292c6912E7710c838347Ae178B4a" } }\n  }\n}\n';
  await put(file, text);
  const { stdout, exitCode } = await sandbox.runHere(["connect", "cursor", "--dry-run"]);
  expect(exitCode).toBe(0);
  expect(stdout).toContain('+    "memslot": {');
  expect(stdout).not.toContain("16C7e42F292c6912");
  expect(await readFile(file, "utf8")).toBe(text);
  expect(await readdir(homeOf(sandbox), { recursive: true })).toEqual([".cursor", ".cursor/mcp.json"]);
});

test("other options change what was written, and --remove still gives back what was there before the first time", async () => {
  const sandbox = await createSandbox();
  const file = path.join(homeOf(sandbox), ".claude", "settings.json");
  await put(file, '{"model":"opus"}');
  await connect(sandbox, "claude-code");
  const first = await readFile(file, "utf8");
  expect(await connect(sandbox, "claude-code", "--recall", "always", "--read-only")).toMatchObject({
    state: "written",
  });
  const second = await readFile(file, "utf8");
  expect(second.replaceAll(" --recall always --read-only", "")).toBe(first);
  expect(await readFile(path.join(homeOf(sandbox), ".claude", "CLAUDE.md"), "utf8")).not.toContain("memory_append");
  await connect(sandbox, "claude-code", "--remove");
  expect(await readFile(file, "utf8")).toBe('{"model":"opus"}');
});

describe("--no-hooks", () => {
  test("writes none", async () => {
    const sandbox = await createSandbox();
    const answer = await connect(sandbox, "claude-code", "--no-hooks");
    expect(answer.changes.map(({ what }) => what)).toEqual(["server", "instructions"]);
  });

  test("takes those of an earlier time away, from a file of theirs and from one that others have changed since", async () => {
    const sandbox = await createSandbox();
    const settings = path.join(homeOf(sandbox), ".claude", "settings.json");
    await put(settings, '{"model":"opus"}');
    await connect(sandbox, "claude-code");
    await connect(sandbox, "claude-code", "--no-hooks");
    expect(await readFile(settings, "utf8")).toBe('{"model":"opus"}');
    expect(await readFile(path.join(homeOf(sandbox), ".claude.json"), "utf8")).toContain("memslot");

    await connect(sandbox, "gemini");
    const both = path.join(homeOf(sandbox), ".gemini", "settings.json");
    await writeFile(both, (await readFile(both, "utf8")).replace("{", '{ "added": "later",'));
    await connect(sandbox, "gemini", "--no-hooks");
    expect(parseJson(await readFile(both, "utf8"))).toEqual({
      added: "later",
      mcpServers: { memslot: expect.anything() as object },
    });

    await connect(sandbox, "opencode");
    await connect(sandbox, "opencode", "--no-hooks");
    expect(await readdir(path.join(homeOf(sandbox), ".config", "opencode"))).toEqual(["AGENTS.md", "opencode.json"]);
    for (const client of ["claude-code", "gemini", "opencode"] as const) await connect(sandbox, client, "--remove");
    expect(await readFile(settings, "utf8")).toBe('{"model":"opus"}');
    expect(await readdir(path.join(sandbox.stateDir, "connections"))).toEqual([]);
  });
});

test("two clients that read one file share its lines, and the last one that goes takes them out", async () => {
  const sandbox = await createSandbox();
  const file = path.join(sandbox.cwd, "AGENTS.md");
  await writeFile(file, "Use pnpm.");
  await connect(sandbox, "codex", "--project");
  await connect(sandbox, "opencode", "--project");
  const both = await readFile(file, "utf8");
  expect(both.match(/connect: begin/gu)).toHaveLength(1);
  await connect(sandbox, "codex", "--project", "--remove");
  expect(await readFile(file, "utf8")).toBe(both);
  await connect(sandbox, "opencode", "--project", "--remove");
  expect(await readFile(file, "utf8")).toBe("Use pnpm.");
});

test("without its receipt a connection is taken out all the same", async () => {
  const sandbox = await createSandbox();
  const file = path.join(homeOf(sandbox), ".cursor", "mcp.json");
  await put(file, '{\n  "mcpServers": {\n    "a": { "command": "a" }\n  }\n}\n');
  await connect(sandbox, "cursor");
  await rm(path.join(sandbox.stateDir, "connections"), { recursive: true });
  await connect(sandbox, "cursor", "--remove");
  expect(parseJson(await readFile(file, "utf8"))).toEqual({ mcpServers: { a: { command: "a" } } });
});

test("without a name those that are there are listed, and nothing is written where nobody can be asked", async () => {
  const sandbox = await createSandbox();
  await mkdir(path.join(homeOf(sandbox), ".codex"), { recursive: true });
  const env = { PATH: "" };
  const listed = await sandbox.runHere(["connect", "--json"], { env });
  expect(JSON.parse(listed.stdout)).toEqual({ clients: [{ client: "codex", name: "Codex", connected: false }] });
  const { stdout, exitCode } = await sandbox.runHere(["connect"], { env });
  expect(exitCode).toBe(0);
  expect(stdout).toContain("memslot connect codex");
  expect(await readdir(path.join(homeOf(sandbox), ".codex"))).toEqual([]);
});

test("a client without settings for a project says so, and so does a wrong name", async () => {
  const sandbox = await createSandbox();
  expect(await sandbox.runHere(["connect", "windsurf", "--project"])).toMatchObject({ exitCode: 2 });
  expect(await sandbox.runHere(["connect", "claude", "--project"])).toMatchObject({ exitCode: 2 });
  expect(await sandbox.runHere(["connect", "codex", "--project", "--user"])).toMatchObject({ exitCode: 2 });
});

test("what Gemini would strip is named in its entry, without the value", async () => {
  const sandbox = await createSandbox();
  await sandbox.runHere(["connect", "gemini", "--json"], { env: { OPENAI_API_KEY: "sk-secret" } });
  const text = await readFile(path.join(homeOf(sandbox), ".gemini", "settings.json"), "utf8");
  expect(text).toContain('"OPENAI_API_KEY": "$OPENAI_API_KEY"');
  expect(text).not.toContain("sk-secret");
});

test("the lines for a model are at most six, and end where they begin", async () => {
  const sandbox = await createSandbox();
  await connect(sandbox, "gemini");
  const lines = (await readFile(path.join(homeOf(sandbox), ".gemini", "GEMINI.md"), "utf8")).trim().split("\n");
  expect(lines.length - 2).toBeLessThanOrEqual(6);
  expect([lines[0], lines.at(-1)]).toEqual(["<!-- memslot connect: begin -->", "<!-- memslot connect: end -->"]);
});
