import { chmod, mkdir, readFile, readdir, readlink, stat, symlink, writeFile } from "node:fs/promises";
import { chmodSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parse as parseJson } from "jsonc-parser";
import { parse as parseToml } from "smol-toml";
import { describe, expect, test } from "vitest";
import { type ClientId, clientIds } from "@memslot/core";
import { agentOf, agents } from "@memslot/indexing/host";
import { commandLine } from "../../src/connect/connection-commands.ts";
import { isOwnHook, isOwnServer } from "../../src/connect/detect-memslot-entries.ts";
import { markedBlock } from "../../src/connect/text-edit.ts";
import { type Sandbox, createSandbox } from "../run-memslot.ts";
import { transcript } from "../transcript.ts";
import existingFiles from "./existing-files.json" with { type: "json" };
import data from "./handlers.json" with { type: "json" };
import shapes from "./shapes.json" with { type: "json" };

const settings = (sandbox: Sandbox): string => path.join(homeOf(sandbox), ".claude/settings.json");

transcript("connect/refusals", {
  steps: { chmod: (_, mode = "", file = "") => chmodSync(file, Number.parseInt(mode, 8)) },
});
transcript("connect/changes", {
  steps: {
    /** Prints the files that were kept because there was no receipt of what was in them before. */
    kept({ stateDir }) {
      const folder = path.join(stateDir, "connections");
      const texts = readdirSync(folder).map((name) => readFileSync(path.join(folder, name), "utf8"));
      return { exitCode: 0, stdout: texts.toSorted().join("\n"), stderr: "" };
    },
    "add-handler": (sandbox) => {
      const value = JSON.parse(readFileSync(settings(sandbox), "utf8")) as {
        hooks: Record<string, { hooks: object[] }[]>;
      };
      value.hooks["Stop"]?.[0]?.hooks.push({ type: "command", command: "say done" });
      writeFileSync(settings(sandbox), JSON.stringify(value, undefined, 2));
    },
  },
});

interface Answer {
  ok: boolean;
  state: string;
  changes: { path: string; what: string }[];
  refused: object[];
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

/** What a file says, without what belongs to this program. */
function others(file: string, text: string): unknown {
  if (file.endsWith(".md"))
    return text
      .replace(/<!-- memslot connect: begin[^]*end -->/u, "")
      .replaceAll(/\s+/gu, " ")
      .trim();
  const bare = text.replace(/^\uFEFF/u, "");
  const toml = (): unknown =>
    JSON.parse(
      JSON.stringify(parseToml(bare, { integersAsBigInt: "asNeeded" }), (_, value: unknown) =>
        typeof value === "bigint" ? String(value) : value,
      ),
    );
  const value = (file.endsWith(".toml") ? toml() : (parseJson(bare, [], { allowTrailingComma: true }) ?? {})) as Record<
    string,
    Record<string, unknown>
  >;
  for (const group of agents.flatMap(({ files }) => files.flatMap((each) => each.group ?? []))) {
    delete value[group]?.["memslot"];
    if (Object.keys(value[group] ?? {}).length === 0) delete value[group];
  }
  const hooks = value["hooks"] ?? {};
  for (const [event, items] of Object.entries(hooks)) {
    const left = Array.isArray(items) ? items.filter((item) => !isOwnHook(item)) : [];
    if (left.length === 0) delete hooks[event];
    else hooks[event] = left;
  }
  if (Object.keys(hooks).length === 0) delete value["hooks"];
  return value;
}

const commentsOf = (text: string): string[] => text.match(/\/\/.*|\/\*.*?\*\/|# .*/gu) ?? [];

/** A file that somebody has already, as it is found in homes and projects, each odd in its own way. */
interface ExistingFile {
  name: string;
  client: ClientId;
  /** In the home folder; with `project`, in the project. */
  path: string;
  project?: true;
  text: string;
  link?: true;
}

test.each([
  ["as node, the first one on the PATH", "powershell", "C:\\bin;C:\\Program Files\\nodejs", "node"],
  ["quoted in cmd and Git Bash", undefined, "", '"C:\\Program Files\\nodejs\\node.exe"'],
  ["called in PowerShell", "powershell", "", '& "C:\\Program Files\\nodejs\\node.exe"'],
  [
    "in full if another Node comes first",
    "powershell",
    "C:\\other;C:\\Program Files\\nodejs",
    '& "C:\\Program Files\\nodejs\\node.exe"',
  ],
] as const)("on Windows the program of a hook is started %s", (_, shell, PATH, start) => {
  const node = "C:\\Program Files\\nodejs\\node.exe";
  const files = [node, "C:\\other\\node.exe"];
  const words = [node, "C:\\my tools\\memslot.js", "hook", "codex"];
  const line = commandLine(words, shell, { platform: "win32", env: { PATH } }, (file) => files.includes(file));
  expect(line).toBe(`${start} "C:/my tools/memslot.js" hook codex`);
  expect(isOwnHook({ command: line })).toBe(true);
});

test("on Windows the command of a hook fits the shell in which each agent runs it", () => {
  const node = String.raw`C:\nodejs\node.exe`;
  const start = `"${node}" C:/bin/memslot.js hook`;
  const lines = agents.flatMap(({ id, hooks }) => {
    const words = [node, String.raw`C:\bin\memslot.js`, "hook", id, "--workspace", String.raw`\\nas\Ada's notes`];
    const line = commandLine(words, hooks?.shell, { platform: "win32", env: {} }, () => false);
    return hooks === undefined || id === "opencode" ? [] : [line.replace(' --workspace "//nas/Ada\'s notes"', "")];
  });
  expect(lines).toEqual([
    `${start} claude-code`,
    `& ${start} codex`,
    `& ${start} gemini`,
    `& ${start} copilot`,
    `& ${start} qwen`,
    `${start} cursor`,
    `${start} vscode`,
  ]);
  const { handler } = agentOf("qwen").files.find(({ what }) => what === "hooks") ?? {};
  const shell = { hooks: [{ shell: "powershell" }] };
  expect(handler?.("x", "Stop", "win32")).toMatchObject(shell);
  expect(handler?.("x", "Stop", "linux")).not.toMatchObject(shell);
});

test("the block of an earlier version that ended without a line end gets one, and removal restores the file", () => {
  const block = (line: string): string => `<!-- memslot connect: begin -->\n${line}\n<!-- memslot connect: end -->`;
  const edit = markedBlock(["new"]);
  const upgraded = edit.put(`Be brief.\n\n${block("old")}`);
  expect(upgraded).toBe(`Be brief.\n${block("new")}\n`);
  expect(edit.put(upgraded)).toBe(upgraded);
  expect(edit.remove(upgraded)).toBe("Be brief.");
});

/** Texts of one shape each: as the file that holds what they are about. */
const shaped = [
  ...shapes.json.map(([name = "", text = ""]) => {
    const file = /mcpServers/u.test(text) ? ".claude.json" : ".claude/settings.json";
    return { client: "claude-code" as const, path: file, name, text };
  }),
  ...shapes.toml.map(([name = "", text = ""]) => ({
    client: "codex" as const,
    path: ".codex/config.toml",
    name,
    text,
  })),
];

test.each([...(existingFiles as ExistingFile[]), ...shaped] as ExistingFile[])(
  "$client, $name: only what is ours is added, --remove gives the bytes back, and what was added since stays",
  async ({ client, path: name, project, text, link }) => {
    const sandbox = await createSandbox();
    const file = path.join(project ? sandbox.cwd : homeOf(sandbox), name);
    if (link) {
      const real = path.join(homeOf(sandbox), "dotfiles", path.basename(name));
      await put(real, text);
      await mkdir(path.dirname(file), { recursive: true });
      await symlink(path.relative(path.dirname(file), real), file);
    } else await put(file, text);
    await chmod(file, 0o640);
    const scope = project ? ["--project"] : [];
    const before = await readFile(file);
    expect(await connect(sandbox, client, ...scope)).toMatchObject({ ok: true, state: "written", refused: [] });

    const after = await readFile(file, "utf8");
    expect(after).not.toBe(text);
    expect(others(file, after)).toEqual(others(file, text));
    for (const comment of commentsOf(text)) expect(after).toContain(comment.trimEnd());
    if (text.includes("\r\n")) expect(after.replaceAll("\r\n", "")).not.toContain("\n");
    expect(after.startsWith("\uFEFF")).toBe(text.startsWith("\uFEFF"));
    expect((await stat(file)).mode & 0o777).toBe(0o640);
    if (link) expect(await readlink(file)).toContain("dotfiles");

    expect(await connect(sandbox, client, ...scope)).toMatchObject({ state: "unchanged" });
    expect(await readFile(file, "utf8")).toBe(after);

    expect(await connect(sandbox, client, "--remove", ...scope)).toMatchObject({ ok: true, state: "written" });
    expect((await readFile(file)).equals(before)).toBe(true);
    if (link) expect(await readlink(file)).toContain("dotfiles");

    await connect(sandbox, client, ...scope);
    const added = file.endsWith(".md")
      ? `${after}\nAdded later.\n`
      : file.endsWith(".toml")
        ? `${after}\n[added]\nlater = true\n`
        : after.replace("{", '{ "added": "later",');
    await writeFile(file, added);
    expect(await connect(sandbox, client, ...scope)).toMatchObject({ ok: true });
    expect(await readFile(file, "utf8")).toBe(added);
    await connect(sandbox, client, "--remove", ...scope);
    const left = await readFile(file, "utf8");
    expect(left).not.toContain("memslot");
    expect(left).toMatch(/added|Added/u);
    expect(others(file, left)).toEqual(others(file, added));
  },
);

test.each(clientIds)("%s: what was made for it is gone when it is removed, folders too", async (client) => {
  const sandbox = await createSandbox();
  await mkdir(homeOf(sandbox), { recursive: true });
  const answer = await connect(sandbox, client);
  expect(answer).toMatchObject({ ok: true, state: "written", refused: [] });
  expect(answer.changes.map(({ what }) => what)).toContain("server");
  for (const { path: file } of answer.changes) expect((await stat(file)).size).toBeGreaterThan(0);
  await connect(sandbox, client, "--remove");
  expect(await readdir(homeOf(sandbox), { recursive: true })).toEqual([]);
  expect(await readdir(path.join(sandbox.stateDir, "connections"))).toEqual([]);
});

test.each([
  '{\n  "mcpServers": {\n    "a": { "command": "a" } // mine\n  } // servers\n}\n',
  '{\r\n  "mcpServers": {\r\n    "a": { "command": "a" }, // mine\r\n    /* end */\r\n  }, // servers\r\n}\r\n',
  '{ "mcpServers": { "a": { "command": "a" } /* mine */ } }\n',
  '{\n  "mcpServers": {\n    // none yet\n  }\n}\n',
])("%j: all comments of a file that was changed since stay", async (text) => {
  const sandbox = await createSandbox();
  const file = path.join(homeOf(sandbox), ".cursor", "mcp.json");
  await put(file, text);
  await connect(sandbox, "cursor");
  const changed = (await readFile(file, "utf8"))
    .replace("{", '{ "later": 1,')
    .replace(/("memslot": )/u, "/* before */ $1");
  await writeFile(file, changed);
  expect(commentsOf(changed).length).toBeGreaterThan(1);
  for (const option of ["--read-only", "--remove"]) {
    await connect(sandbox, "cursor", option);
    const now = await readFile(file, "utf8");
    expect(now.includes("--read-only")).toBe(option === "--read-only");
    for (const comment of commentsOf(changed)) expect(now).toContain(comment.trimEnd());
  }
  expect(await readFile(file, "utf8")).not.toContain("memslot");
});

describe("a handler", () => {
  test.each(data.handlers as [string, boolean][])("%s: ours is %s", (line, isOurs) => {
    expect(isOwnHook({ type: "command", command: line })).toBe(isOurs);
    if (!isOurs || line.includes('"')) return;
    const words = line.split(" ").map((each) => (each === "hook" ? "mcp" : each));
    expect(isOwnServer({ command: words[0], args: words.slice(1) })).toBe(true);
    expect(isOwnServer({ command: words })).toBe(true);
  });
});
