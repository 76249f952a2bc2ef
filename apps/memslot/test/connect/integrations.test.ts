import { readFile, stat } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import type { ClientId } from "../../src/connect/client.ts";
import { packageVersion } from "../../src/package-version.ts";
import { createSandbox } from "../run-memslot.ts";

const root = path.join(import.meta.dirname, "../../../..");
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
    mcpServers: { memslot: { type: "stdio", command: "memslot", args: ["mcp"] } },
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
