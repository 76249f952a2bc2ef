import { symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { unseenCharacter } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { type Sandbox, createSandbox } from "../run-memslot.ts";
import { type Transport, connect } from "./clients.ts";
import { initialize, startServer } from "./raw-server.ts";

const transports: Transport[] = ["stdio", "http"];

/** A day so many days before today, in UTC. */
function dayBack(days: number): string {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() - days))
    .toISOString()
    .slice(0, 10);
}

async function utcSandbox(): Promise<{ sandbox: Sandbox; args: string[] }> {
  const sandbox = await createSandbox();
  const config = await sandbox.writeConfig("{ agents: { defaults: { userTimezone: 'UTC' } } }");
  return { sandbox, args: ["--config", config] };
}

describe("resources", () => {
  test.each(transports)("are MEMORY.md and the daily logs of the last seven days, over %s", async (transport) => {
    const { sandbox, args } = await utcSandbox();
    await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
    // Eight and more days back is out whatever side of midnight this runs on; tomorrow is not yet.
    for (const back of [1, 3, 8, 30]) await sandbox.write(`memory/${dayBack(back)}.md`, "- Something.\n");
    await sandbox.write(`memory/${dayBack(1)}-travel.md`, "A note of a session.\n");
    await writeFile(path.join(sandbox.cwd, "outside.md"), "secret\n");
    await symlink(path.join(sandbox.cwd, "outside.md"), path.join(sandbox.workspace, `memory/${dayBack(2)}.md`));
    const client = await connect(sandbox, transport, { args });

    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual([
      "memslot://memory/MEMORY.md",
      `memslot://memory/memory/${dayBack(1)}.md`,
      `memslot://memory/memory/${dayBack(3)}.md`,
    ]);
    expect(resources[0]).toMatchObject({
      title: "Long-term memory",
      mimeType: "text/markdown",
      size: 21,
      annotations: { lastModified: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/u) },
    });
    for (const { uri, size } of resources) {
      const [content] = (await client.readResource({ uri })).contents as { text: string; mimeType: string }[];
      expect(content).toMatchObject({ mimeType: "text/markdown" });
      expect(Buffer.byteLength(content?.text ?? "")).toBe(size);
    }
  });

  test("are any memory file by its path, as a whole and as it stands", async () => {
    const { sandbox, args } = await utcSandbox();
    const long = Array.from({ length: 9000 }, (_, index) => `Line ${index} of the long note, with 日本 in it.`).join(
      "\n",
    );
    await sandbox.write("memory/deep/a note.md", `${long}\n`);
    await sandbox.write("memory/empty.md", "");
    const client = await connect(sandbox, "stdio", { args });
    expect((await client.listResourceTemplates()).resourceTemplates).toEqual([
      expect.objectContaining({ uriTemplate: "memslot://memory/{+path}", mimeType: "text/markdown" }),
    ]);
    const read = async (uri: string): Promise<unknown> => (await client.readResource({ uri })).contents;
    expect(await read("memslot://memory/memory/deep/a%20note.md")).toEqual([
      { uri: "memslot://memory/memory/deep/a%20note.md", mimeType: "text/markdown", text: `${long}\n` },
    ]);
    expect(await read("memslot://memory/memory/empty.md")).toMatchObject([{ text: "" }]);
  });

  test.skipIf(process.platform === "win32")("hide nothing, and are found by the path that tools give", async () => {
    const { sandbox, args } = await utcSandbox();
    await sandbox.write("memory/a\u202Edm.\u{E0041}.md", "The ferry \u202Eleaves\u{E0049}\u200B at nine 👩‍🚀.\n");
    const client = await connect(sandbox, "stdio", { args });
    const found = await client.callTool({ name: "memory_search", arguments: { query: "ferry leaves nine" } });
    expect(unseenCharacter(JSON.stringify(found))).toBeUndefined();
    const { results } = found.structuredContent as { results: { path: string }[] };
    const uri = `memslot://memory/${encodeURIComponent(results[0]?.path ?? "")}`;
    expect((await client.readResource({ uri })).contents).toEqual([
      { uri, mimeType: "text/markdown", text: "The ferry \uFFFDleaves\uFFFD at nine 👩‍🚀.\n" },
    ]);
  });

  test("outside the memory, or not there, are not found, and nothing more is told", async () => {
    const { sandbox, args } = await utcSandbox();
    await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
    await sandbox.write("secret.txt", "secret\n");
    await writeFile(path.join(sandbox.cwd, "outside.md"), "secret\n");
    await symlink(path.join(sandbox.cwd, "outside.md"), path.join(sandbox.workspace, "memory.md"));
    const server = startServer(sandbox, args);
    await initialize(server);
    for (const rest of [
      "memory/nothing.md",
      "../here/outside.md",
      "..%2Fhere%2Foutside.md",
      "memory.md",
      "secret.txt",
      "/etc/passwd",
      "%2Fetc%2Fpasswd",
      "~/.ssh/id_rsa",
      "MEMORY.md%00.txt",
      "%ff",
      "",
    ]) {
      const uri = `memslot://memory/${rest}`;
      const { error, result } = await server.request("resources/read", { uri });
      expect({ rest, error, result }).toEqual({
        rest,
        error: { code: -32_002, message: `Resource not found: ${uri}`, data: { uri } },
        result: undefined,
      });
    }
    const other = await server.request("resources/read", { uri: "file:///etc/passwd" });
    expect(other.error?.message).toBe("Resource not found: file:///etc/passwd");
  });

  test("too large to be given whole name memory_get", async () => {
    const { sandbox, args } = await utcSandbox();
    await sandbox.write("memory/large.md", "A line of a large note.\n".repeat(50_000));
    await sandbox.write("memory/wide.md", `short\n${"wide ".repeat(5000)}\nend\n`);
    const server = startServer(sandbox, args);
    await initialize(server);
    const large = await server.request("resources/read", { uri: "memslot://memory/memory/large.md" });
    expect(large.error?.message).toMatch(/memory\/large\.md is larger than 1 MB: .* memory_get/u);
    const wide = await server.request("resources/read", { uri: "memslot://memory/memory/wide.md" });
    expect(wide.error?.message).toMatch(/memory\/wide\.md has a line that is too long .* memory_get/u);
  });
});
