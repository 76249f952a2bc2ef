import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { type Sandbox, createSandbox } from "../run-memslot.ts";
import { connect } from "./clients.ts";

async function sandboxWith(settings: string): Promise<Sandbox> {
  const sandbox = await createSandbox();
  await sandbox.write("MEMORY.md", "# Memory\n\n- Anna likes espresso.\n- Ben plays the oboe.\n");
  await mkdir(sandbox.stateDir, { recursive: true });
  await writeFile(path.join(sandbox.stateDir, "memslot.json5"), settings);
  return sandbox;
}

const editing = '{ memory: { write: "edit" } }';
const notes = (sandbox: Sandbox): Promise<string> => readFile(path.join(sandbox.workspace, "MEMORY.md"), "utf8");
const before = "# Memory\n\n- Anna likes espresso.\n- Ben plays the oboe.\n";

type Client = Awaited<ReturnType<typeof connect>>;
async function call(client: Client, name: string, input: Record<string, unknown>): Promise<Record<string, unknown>> {
  const { structuredContent } = await client.callTool({ name, arguments: input });
  return structuredContent as Record<string, unknown>;
}

describe("memory.write", () => {
  const offered = async (settings: string, args: readonly string[] = []): Promise<string[]> => {
    const client = await connect(await sandboxWith(settings), "stdio", { args });
    return (await client.listTools()).tools.map(({ name }) => name).slice(2);
  };

  test("decides whether a client may change notes; it may not where nobody has said so, nor with --read-only", async () => {
    expect(await offered("{}")).toEqual(["memory_append"]);
    expect(await offered('{ memory: { write: "append" } }')).toEqual(["memory_append"]);
    expect(await offered(editing)).toEqual(["memory_append", "memory_edit", "memory_forget"]);
    expect(await offered(editing, ["--read-only"])).toEqual([]);
  });
});

describe("memslot log, undo and restore", () => {
  test("show what a client has changed and take it back to the byte", async () => {
    const sandbox = await sandboxWith(editing);
    const client = await connect(sandbox, "stdio");
    const { tools } = await client.listTools();
    const hints = Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations?.destructiveHint]));
    expect(hints).toMatchObject({ memory_append: false, memory_edit: true, memory_forget: true });
    const hash = String((await call(client, "memory_get", { path: "MEMORY.md" }))["hash"]);
    const edited = await call(client, "memory_edit", { path: "MEMORY.md", hash, old: "espresso", new: "tea" });
    expect(edited).toMatchObject({ status: "ok", state: "edited", citation: "MEMORY.md#L3-L3" });
    const forgotten = await call(client, "memory_forget", {
      path: "MEMORY.md",
      hash: edited["hash"],
      old: "- Ben plays the oboe.",
      reason: "Ben asked for it.",
    });
    expect(forgotten).toMatchObject({ status: "ok", state: "forgotten" });
    expect(await notes(sandbox)).toBe("# Memory\n\n- Anna likes tea.\n");
    const stale = await client.callTool({
      name: "memory_edit",
      arguments: { path: "MEMORY.md", hash, old: "tea", new: "x" },
    });
    expect(stale.isError).toBe(true);

    const shown = await sandbox.runHere(["log"]);
    expect(shown).toMatchObject({ exitCode: 0, stderr: "" });
    expect(shown.stdout).toMatch(
      /forget {2}MEMORY\.md:4 {2}by memory_forget, agent main\n {2}reason: Ben asked for it\.\n {2}- - Ben plays/u,
    );
    expect(shown.stdout).toMatch(
      /edit {2}MEMORY\.md:3 {2}by memory_edit[^\n]*\n {2}- - Anna likes espresso\.\n {2}\+ - Anna likes tea\./u,
    );
    const listed = JSON.parse((await sandbox.runHere(["log", "--json"])).stdout) as { id: string }[];
    expect(listed.map(({ id }) => id)).toEqual([forgotten["change"], edited["change"]]);

    expect(await sandbox.runHere(["undo", String(edited["change"])])).toMatchObject({ exitCode: 0 });
    expect(await sandbox.runHere(["undo", String(edited["change"])])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("has been taken back already") as string,
    });
    expect(await notes(sandbox)).toBe("# Memory\n\n- Anna likes espresso.\n");
    const restored = await sandbox.runHere(["restore", "--json"]);
    expect(JSON.parse(restored.stdout)).toMatchObject({ kind: "restore", undoes: forgotten["change"] });
    expect(await notes(sandbox)).toBe(before);
    expect(await readdir(path.join(sandbox.workspace, "memory", ".trash"))).toEqual([]);
    expect(await sandbox.runHere(["restore"])).toMatchObject({ exitCode: 2 });
    expect((await sandbox.runHere(["log"])).stdout).toContain("(undone)");
  });

  test("say that there is nothing where nothing was changed", async () => {
    const sandbox = await sandboxWith("{}");
    expect(await sandbox.runHere(["log"])).toMatchObject({
      exitCode: 0,
      stdout: "No agent has changed a note here.\n",
    });
    expect(await sandbox.runHere(["log", "--json"])).toMatchObject({ exitCode: 0, stdout: "[]\n" });
    expect(await sandbox.runHere(["undo"])).toMatchObject({ exitCode: 2 });
    expect(await sandbox.runHere(["undo", "--json"])).toMatchObject({ exitCode: 2 });
  });
});
