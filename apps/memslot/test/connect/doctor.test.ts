import { spawnSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { agentOf } from "@memslot/indexing/host";
import { describe, expect, test } from "vitest";
import { openReceipts } from "../../src/connect/receipts.ts";
import { connectedFiles } from "../../src/doctor/connection-checks.ts";
import { type Sandbox, createSandbox } from "../run-memslot.ts";
import { before, connectAtOnce } from "./connect-at-once.ts";
import data from "../data/doctor.json" with { type: "json" };

interface Check {
  name: string;
  status: string;
  message: string;
  next?: string;
}

async function checks(sandbox: Sandbox, env: NodeJS.ProcessEnv = {}): Promise<Check[]> {
  const { stdout } = await sandbox.runHere(["doctor", "--json"], { env });
  const { checks: all } = JSON.parse(stdout) as { checks: Check[] };
  return all.filter(({ name }) => name === "connect" || name === "hook");
}

async function prepare(client: string, ...more: string[]): Promise<Sandbox> {
  const sandbox = await createSandbox();
  await sandbox.write("MEMORY.md", "- The port is 5544.\n");
  const { exitCode, stderr } = await sandbox.runHere(["connect", client, ...more]);
  expect(exitCode, stderr).toBe(0);
  return sandbox;
}

const at = (sandbox: Sandbox, relPath: string): string => path.join(sandbox.env["HOME"] ?? "", relPath);

async function change(file: string, from: string | RegExp, to: string): Promise<void> {
  const text = await readFile(file, "utf8");
  expect(text).toMatch(from);
  await writeFile(file, text.replace(from, to));
}

test("nothing is said where nothing was connected", async () => {
  const sandbox = await createSandbox();
  expect(await checks(sandbox)).toEqual([]);
});

test("a connection is started, and its tools are named", async () => {
  const sandbox = await prepare("claude-code");
  expect(await checks(sandbox)).toEqual(data.sound);
});

test("a path with every sign that means something to a shell is one word", async () => {
  const sandbox = await createSandbox();
  const workspace = path.join(sandbox.cwd, 'a b\'s "notes" $HOME `x` \\ & ;');
  await mkdir(workspace);
  await writeFile(path.join(workspace, "MEMORY.md"), "- The port is 5544.\n");
  await sandbox.run(["connect", "codex", "--workspace", workspace]);
  const receipt = await readFile(path.join(sandbox.stateDir, "connections", "codex-user.json"), "utf8");
  const { hook } = JSON.parse(receipt) as { hook: string };
  const input = '{"session_id":"s","hook_event_name":"SessionStart","source":"startup"}';
  const { stdout } = spawnSync(hook, { shell: true, input, encoding: "utf8", env: sandbox.env });
  expect(stdout).toContain("5544");
});

test("an entry that somebody took out, a file that is gone and a server that does not start are told", async () => {
  const sandbox = await prepare("claude-code");
  const state = at(sandbox, ".claude.json");
  const whole = await readFile(state, "utf8");
  await writeFile(state, "{}");
  expect(await checks(sandbox)).toMatchObject([{ status: "fail", next: "Run memslot connect claude-code again." }]);
  await writeFile(state, whole);
  const receipt = path.join(sandbox.stateDir, "connections", "claude-code-user.json");
  const { server } = JSON.parse(await readFile(receipt, "utf8")) as { server: { args: string[] } };
  const program = server.args.find((word) => /\.[jt]s$/u.test(word)) ?? "";
  for (const file of [receipt, state]) await change(file, program, `${program}-is-gone`);
  const [check] = await checks(sandbox);
  expect(check).toMatchObject({ status: "fail", message: expect.stringContaining("does not start") as string });
});

/** What the clients of this sandbox skip without a word, as far as their files tell. */
function skipsOf(sandbox: Sandbox, keys: readonly string[] = []): string {
  const home = sandbox.env["HOME"] ?? "";
  const skips = openReceipts(sandbox.stateDir)
    .all()
    .flatMap((receipt) => agentOf(receipt.client).silentSkips?.(connectedFiles(receipt, home, keys)) ?? []);
  return skips.map(({ message }) => message).join("\n");
}

describe("what a client skips without a word is reported", () => {
  test("Codex: hooks that are not trusted, a strange key, args, hooks that are off", async () => {
    const sandbox = await prepare("codex");
    expect(skipsOf(sandbox)).toContain("until you trust them");
    const hooks = at(sandbox, ".codex/hooks.json");
    const trusted = `[hooks.state."${hooks}:SessionStart:0:0"]\ntrusted_hash = "x"\n\n`;
    await change(at(sandbox, ".codex/config.toml"), /^/u, `[features]\nhooks = false\n\n${trusted}`);
    await change(hooks, "{", '{ "$schema": "x",');
    const withArgs = '{ "hooks": [ { "type": "command", "command": "x", "args": ["y"] } ] },';
    await change(hooks, '"SessionStart": [', `"SessionStart": [ ${withArgs}`);
    const messages = skipsOf(sandbox);
    for (const words of ['as it contains "$schema"', '"args"', "hooks are off"]) expect(messages).toContain(words);
    expect(messages).not.toContain("until you trust them");
  });

  test("Cursor: an event that it does not know, also by the doctor", async () => {
    const sandbox = await prepare("cursor");
    expect(skipsOf(sandbox)).toBe("");
    await change(at(sandbox, ".cursor/hooks.json"), '"hooks": {', '"hooks": { "SessionStart": [],');
    expect(await checks(sandbox)).toMatchObject([
      { status: "ok" },
      { status: "warn", message: expect.stringContaining('"SessionStart"') as string },
    ]);
  });

  test("Claude Code: hooks that are all off", async () => {
    const sandbox = await prepare("claude-code");
    expect(skipsOf(sandbox)).toBe("");
    await change(at(sandbox, ".claude/settings.json"), "{", '{ "disableAllHooks": true,');
    expect(skipsOf(sandbox)).toContain("disableAllHooks");
  });

  test("Copilot CLI: a key that it passes on to nothing", async () => {
    const sandbox = await prepare("copilot");
    expect(skipsOf(sandbox, ["GEMINI_API_KEY"])).toBe("");
    expect(skipsOf(sandbox, ["OPENAI_API_KEY"])).toContain("passes OPENAI_API_KEY neither");
  });

  test("Gemini: a variable that it strips, and a folder that it does not trust", async () => {
    const sandbox = await prepare("gemini", "--project");
    expect(skipsOf(sandbox, ["GEMINI_API_KEY"])).toMatch(/GEMINI_API_KEY[^]*unless the folder is trusted/u);
    await mkdir(at(sandbox, ".gemini"), { recursive: true });
    const trusted = JSON.stringify({ [path.dirname(sandbox.cwd)]: "TRUST_FOLDER" });
    await writeFile(at(sandbox, ".gemini/trustedFolders.json"), trusted);
    expect(skipsOf(sandbox)).toBe("");
  });
});

test("what went wrong with a hook last is told", async () => {
  const sandbox = await createSandbox();
  const file = await sandbox.writeConfig("{ agents: ");
  await sandbox.runHere(["hook", "codex", "--config", file], { stdin: '{"session_id":"s","hook_event_name":"Stop"}' });
  expect(await checks(sandbox)).toMatchObject([
    { name: "hook", status: "warn", message: expect.stringContaining("codex") as string },
  ]);
});

test("two at once leave whole files and one record, by which all is given back to the byte", async () => {
  expect(await connectAtOnce(["cursor", "cursor"], 1)).toEqual([before, before]);
});
