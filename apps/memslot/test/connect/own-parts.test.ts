import { mkdir, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { ClientId } from "../../src/connect/client.ts";
import { isOwnHook, isOwnServer } from "../../src/connect/own-handler.ts";
import { type Sandbox, createSandbox } from "../run-memslot.ts";

async function run(sandbox: Sandbox, ...args: string[]): Promise<Record<string, unknown>> {
  const { stdout, stderr } = await sandbox.runHere(["connect", ...args, "--json"]);
  expect(stdout, stderr).not.toBe("");
  return JSON.parse(stdout) as Record<string, unknown>;
}

async function put(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text);
}

const homeOf = (sandbox: Sandbox): string => sandbox.env["HOME"] ?? "";
const read = (file: string): Promise<string> => readFile(file, "utf8");

describe("a handler that somebody has put into our group", () => {
  interface Settings {
    hooks: Record<string, { hooks: { command: string }[] }[]>;
  }
  const theirs = { type: "command", command: "say done" };

  async function prepare(): Promise<{ sandbox: Sandbox; file: string; text: string }> {
    const sandbox = await createSandbox();
    const file = path.join(homeOf(sandbox), ".claude", "settings.json");
    await run(sandbox, "claude-code");
    const settings = JSON.parse(await read(file)) as Settings;
    settings.hooks["Stop"]?.[0]?.hooks.push(theirs);
    const text = JSON.stringify(settings, undefined, 2);
    await writeFile(file, text);
    return { sandbox, file, text };
  }

  test.each(["--remove", "--no-hooks"])("stays alone with %s", async (option) => {
    const { sandbox, file } = await prepare();
    expect(await run(sandbox, "claude-code", option)).toMatchObject({ ok: true });
    expect(JSON.parse(await read(file))).toEqual({ hooks: { Stop: [{ hooks: [theirs] }] } });
  });

  test("stays beside ours, which other options change, and the same options leave alone", async () => {
    const { sandbox, file, text } = await prepare();
    await run(sandbox, "claude-code");
    expect(await read(file)).toBe(text);
    await run(sandbox, "claude-code", "--read-only");
    const { hooks } = JSON.parse(await read(file)) as Settings;
    const commands = (hooks["Stop"] ?? []).flatMap((group) => group.hooks.map(({ command }) => command));
    expect(commands).toHaveLength(2);
    expect(commands).toContain("say done");
    expect(commands.find((command) => command !== "say done")).toContain("--read-only");
  });
});

test.each<[ClientId, string, string]>([
  [
    "claude-code",
    ".claude.json",
    '{\n  "mcpServers": {\n    "memslot": { "command": "docker", "args": ["run", "mcp"] }\n  }\n}\n',
  ],
  [
    "opencode",
    ".config/opencode/opencode.json",
    '{\n  "mcp": {\n    "memslot": { "type": "remote", "url": "https://x.test" }\n  }\n}\n',
  ],
  ["zed", ".config/zed/settings.json", '{\n  "context_servers": {\n    "memslot": {}\n  }\n}\n'],
])(
  "%s: a server called memslot that is somebody's own is neither replaced nor taken out",
  async (client, name, text) => {
    const sandbox = await createSandbox();
    const file = path.join(homeOf(sandbox), name);
    await put(file, text);
    expect(await run(sandbox, client)).toMatchObject({ state: "refused", refused: [{ path: file, line: 3 }] });
    expect(await run(sandbox, client, "--remove")).toMatchObject({ ok: true, state: "unchanged" });
    expect(await read(file)).toBe(text);
  },
);

test("a hook that only speaks of memslot is somebody's own", async () => {
  const sandbox = await createSandbox();
  const file = path.join(homeOf(sandbox), ".claude", "settings.json");
  const theirs = { hooks: [{ type: "command", command: "logger -t memslot hook ran" }] };
  const text = JSON.stringify({ hooks: { Stop: [theirs] } });
  await put(file, text);
  await run(sandbox, "claude-code", "--remove");
  expect(await read(file)).toBe(text);
  await run(sandbox, "claude-code");
  expect(JSON.parse(await read(file))).toMatchObject({ hooks: { Stop: [theirs, {}] } });
});

test.each([
  ["/usr/bin/node /opt/memslot/bin/memslot.js hook codex --workspace /n", true],
  ['"C:\\Program Files\\node.exe" "C:\\x y\\memslot.js" hook cursor', true],
  ["/usr/local/bin/memslot hook gemini", true],
  ["/usr/bin/node --conditions=@memslot/source /c/apps/memslot/src/cli.ts hook zed", true],
  ["/usr/bin/nodejs /opt/memslot/bin/memslot.js hook codex", true],
  ["logger -t memslot hook ran", false],
  ["logger /opt/bin/memslot hook codex", false],
  ["/usr/bin/node /opt/memslot/bin/memslot.js hook mine", false],
  ["say x; /usr/local/bin/memslot hook gemini", false],
  ["/usr/bin/node /opt/notmemslot.js hook codex", false],
])("%s: ours is %s", (command, isOurs) => {
  expect(isOwnHook({ type: "command", command })).toBe(isOurs);
  const words = command.split(" ").map((each) => (each === "hook" ? "mcp" : each));
  if (isOurs && !command.includes('"')) expect(isOwnServer({ command: words[0], args: words.slice(1) })).toBe(true);
  if (isOurs && !command.includes('"')) expect(isOwnServer({ command: words })).toBe(true);
});

test("what is taken out without a receipt is kept as it was", async () => {
  const sandbox = await createSandbox();
  const file = path.join(homeOf(sandbox), ".cursor", "mcp.json");
  await run(sandbox, "cursor");
  const text = await read(file);
  const folder = path.join(sandbox.stateDir, "connections");
  await rm(folder, { recursive: true });
  const { stderr } = await sandbox.runHere(["connect", "cursor", "--remove", "--yes"]);
  const names = await readdir(folder);
  const kept = await Promise.all(names.map((name) => read(path.join(folder, name))));
  expect(kept).toContain(text);
  for (const name of names) expect(stderr).toContain(name);
});

test("Antigravity: two paths that are one file are written once and taken out once", async () => {
  const sandbox = await createSandbox();
  const file = path.join(homeOf(sandbox), ".gemini", "config", "mcp_config.json");
  await put(file, "{}");
  await mkdir(path.join(homeOf(sandbox), ".gemini", "antigravity"));
  await symlink("../config/mcp_config.json", path.join(homeOf(sandbox), ".gemini", "antigravity", "mcp_config.json"));
  expect(await run(sandbox, "antigravity")).toMatchObject({ state: "written" });
  expect(await run(sandbox, "antigravity")).toMatchObject({ state: "unchanged" });
  expect(await read(file)).toContain("memslot");
  expect(await run(sandbox, "antigravity", "--remove")).toMatchObject({ state: "written" });
  expect(await read(file)).toBe("{}");
});

test("a write that fails is told in a sentence", async () => {
  const sandbox = await createSandbox();
  await mkdir(homeOf(sandbox));
  await symlink("nowhere/at/all", path.join(homeOf(sandbox), ".cursor"));
  const { exitCode, stderr } = await sandbox.runHere(["connect", "cursor", "--yes"]);
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/mcp\.json cannot be written: /u);
  expect(stderr).not.toMatch(/unexpected error|\n\s+at /u);
});

describe("comments of a file that was changed since", () => {
  const texts = [
    '{\n  "mcpServers": {\n    "a": { "command": "a" } // mine\n  } // servers\n}\n',
    '{\r\n  "mcpServers": {\r\n    "a": { "command": "a" }, // mine\r\n    /* end */\r\n  }, // servers\r\n}\r\n',
    '{ "mcpServers": { "a": { "command": "a" } /* mine */ } }\n',
    '{\n  "mcpServers": {\n    // none yet\n  }\n}\n',
  ];

  test.each(texts)("%j: all stay when it is taken out, and when it is connected anew", async (text) => {
    const sandbox = await createSandbox();
    const file = path.join(homeOf(sandbox), ".cursor", "mcp.json");
    await put(file, text);
    await run(sandbox, "cursor");
    const touched = (await read(file)).replace("{", '{ "later": 1,').replace(/("memslot": )/u, "/* before */ $1");
    await writeFile(file, touched);
    const comments = touched.match(/\/\/.*|\/\*.*?\*\//gu) ?? [];
    expect(comments.length).toBeGreaterThan(1);

    await run(sandbox, "cursor", "--read-only");
    const again = await read(file);
    expect(again).toContain("--read-only");
    for (const comment of comments) expect(again).toContain(comment.trimEnd());

    await run(sandbox, "cursor", "--remove");
    const left = await read(file);
    expect(left).not.toContain("memslot");
    for (const comment of comments) expect(left).toContain(comment.trimEnd());
  });

  test("in lists of hooks they stay too", async () => {
    const sandbox = await createSandbox();
    const file = path.join(homeOf(sandbox), ".claude", "settings.json");
    await put(file, '{\n  "hooks": {\n    "Stop": [\n      { "hooks": [] } // theirs\n    ] // stops\n  }\n}\n');
    await run(sandbox, "claude-code");
    await writeFile(file, (await read(file)).replace("{", '{ "later": 1,'));
    await run(sandbox, "claude-code", "--remove");
    const left = await read(file);
    expect(left).not.toContain("memslot");
    expect(left).toContain("// theirs");
    expect(left).toContain("// stops");
  });
});
