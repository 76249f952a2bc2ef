import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { finished } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { command, createSandbox } from "./run-memslot.ts";

const [conversations, messages] = [1_500, 10];

/** About 47 MB of conversations, written as a program writes them: without line breaks. */
async function writeExport(file: string): Promise<void> {
  const out = createWriteStream(file);
  for (let index = 0; index < conversations; index++) {
    const chat = Array.from({ length: messages }, (_, at) => ({
      sender: at % 2 === 0 ? "human" : "assistant",
      created_at: "2025-07-01T08:00:00Z",
      content: [{ type: "text", text: `conversation ${index}, message ${at}: ${"what was said of it ".repeat(150)}` }],
    }));
    const entry = {
      uuid: `c${index}`,
      name: `Subject ${index}`,
      created_at: "2025-07-01T08:00:00Z",
      chat_messages: chat,
    };
    if (!out.write(`${index === 0 ? "[" : ","}${JSON.stringify(entry)}`)) await once(out, "drain");
  }
  out.end("]");
  await finished(out);
}

test(
  "an export larger than the memory of its reader is taken over, through 20 kills, whole and once",
  { timeout: 600_000 },
  async () => {
    const sandbox = await createSandbox();
    const file = path.join(sandbox.cwd, "conversations.json");
    await writeExport(file);
    const folder = path.join(sandbox.workspace, "memory/imports/claude");
    const [node = "", ...flags] = command;
    const args = ["--max-old-space-size=64", ...flags, "import", "claude", file, "--workspace", sandbox.workspace];
    for (let kill = 0; kill < 20; kill++) {
      const child = spawn(node, args, { cwd: sandbox.cwd, env: sandbox.env, stdio: "ignore" });
      const ended = new Promise((go) => child.once("exit", go));
      await sleep(500 + kill * 40);
      child.kill("SIGKILL");
      await ended;
    }
    const child = spawn(node, [...args, "--json"], { cwd: sandbox.cwd, env: sandbox.env });
    let told = "";
    child.stdout.on("data", (part: Buffer) => (told += part.toString()));
    expect(await new Promise((go) => child.once("close", go))).toBe(0);
    const { counts } = JSON.parse(told) as { counts: Record<string, number> };
    expect(counts).toMatchObject({ changed: 0, edited: 0 });
    expect((counts["added"] ?? 0) + (counts["unchanged"] ?? 0)).toBe(conversations);
    // What a kill leaves beside them is hidden, and goes with a later run.
    const names = readdirSync(folder).filter((name) => !name.startsWith("."));
    expect(names).toHaveLength(conversations);
    for (const name of names)
      expect(readFileSync(path.join(folder, name), "utf8").match(/^## /gmu)).toHaveLength(messages);
  },
);
