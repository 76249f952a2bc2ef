import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
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
