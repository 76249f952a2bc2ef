import { mkdir, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { type Sandbox, createSandbox } from "../run-memslot.ts";
import { callTool, initialize, startServer } from "./raw-server.ts";

interface Served {
  tools: string[];
  instructions: string;
  answer: string;
  stderr: string;
}

/** Starts the server in a folder of notes, asks it for its tools and for the walrus, and ends it. */
async function serve(sandbox: Sandbox, args: readonly string[] = []): Promise<Served> {
  await mkdir(path.join(sandbox.cwd, "memory"), { recursive: true });
  await writeFile(path.join(sandbox.cwd, "memory", "a.md"), "The walrus of this folder.\n");
  const server = startServer(sandbox, args, {}, ["mcp"]);
  const { result: greeting } = await initialize(server);
  const { result } = await server.request("tools/list");
  const answer = await callTool(server, "memory_search", { query: "walrus" });
  server.child.stdin.end();
  await server.ended();
  return {
    tools: ((result?.["tools"] ?? []) as { name: string }[]).map(({ name }) => name),
    instructions: String(greeting?.["instructions"]),
    answer: JSON.stringify(answer),
    stderr: server.stderr(),
  };
}

test("a server that is started in a folder of notes serves it, says so, and writes nothing into it", async () => {
  const sandbox = await createSandbox();
  const { tools, instructions, answer, stderr } = await serve(sandbox);
  expect(answer).toContain("walrus of this folder");
  expect(tools).toEqual(["memory_search", "memory_get"]);
  expect(instructions).not.toContain("memory_append");
  expect(stderr).toContain("found from the current folder");
  expect(stderr).toContain("memory_append is offered with --workspace");
  expect((await readdir(path.join(sandbox.cwd, "memory"))).toSorted()).toEqual(["a.md"]);
});

test("where the usual workspace has been made, a folder that a client works in does not take its place", async () => {
  const sandbox = await createSandbox();
  await mkdir(path.join(sandbox.stateDir, "workspace", "memory"), { recursive: true });
  await writeFile(path.join(sandbox.stateDir, "workspace", "MEMORY.md"), "The walrus that was chosen.\n");
  const { tools, answer, stderr } = await serve(sandbox);
  expect(answer).toContain("walrus that was chosen");
  expect(answer).not.toContain("walrus of this folder");
  expect(tools).toContain("memory_append");
  expect(stderr).not.toContain("found from the current folder");
});

test("a folder that is named is written into", async () => {
  const sandbox = await createSandbox();
  const { tools, answer, stderr } = await serve(sandbox, ["--workspace", sandbox.cwd]);
  expect(answer).toContain("walrus of this folder");
  expect(tools).toContain("memory_append");
  expect(stderr).not.toContain("found from the current folder");
});
