import { type ChildProcess, execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { unseenCharacter } from "@memslot/core/host";
import { describe, expect, test } from "vitest";
import { callTool, initialize, startServerProcess } from "./mcp/server.ts";
import { type Sandbox, createSandbox } from "./run-memslot.ts";
import data from "./data/debug.json" with { type: "json" };

const note = "# Ferry\n\nThe WORDOFNOTE ferry leaves at nine.\n";
const query = "WORDOFQUERY ferry";
const search = ["memory", "search", query] as const;

async function sandboxWithNote(): Promise<Sandbox> {
  const sandbox = await createSandbox();
  await sandbox.write("MEMORY.md", note);
  return sandbox;
}

/** The lines about calls, with the word behind `memslot:` of each. */
function traced(stderr: string): { lines: string[]; channels: string[] } {
  const lines = stderr.split("\n").filter((line) => line.startsWith("memslot:") && !line.startsWith("memslot: "));
  return { lines, channels: [...new Set(lines.map((line) => /^memslot:(\w+)/u.exec(line)?.[1] ?? ""))].toSorted() };
}

describe("MEMSLOT_DEBUG in the command", () => {
  test("prints a line to stderr for each call of its channels, names unknown ones once, and changes no answer", async () => {
    const sandbox = await sandboxWithNote();
    const plain = await sandbox.runHere([...search, "--json"]);
    const { stdout, stderr, exitCode } = await sandbox.runHere([...search, "--json"], data.wrongChannel);
    expect({ stdout, exitCode }).toEqual({ stdout: plain.stdout, exitCode: 0 });
    expect(traced(plain.stderr).lines).toEqual([]);
    const { lines } = traced(stderr);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(
      /^memslot:sync ok [\d.]+ ms agentId=main backend=memory-core reason=search .*unchanged=1/u,
    );
    expect(lines[1]).toMatch(/^memslot:search ok [\d.]+ ms agentId=main .* queryLength=17 .* results=1 state=ok/u);
    expect(stderr.match(/MEMSLOT_DEBUG/gu)).toHaveLength(1);
    expect(stderr).toContain(
      'memslot: MEMSLOT_DEBUG: "serach" is not a channel; known are search, sync, embedding, store, provider, and * for all',
    );
  });

  test("prints all of them for *, and of no note, path, query or key anything", async () => {
    const sandbox = await sandboxWithNote();
    const key = "sk-WORDOFKEY0123456789";
    const env = { MEMSLOT_DEBUG: "*", OPENAI_API_KEY: key, OPENAI_BASE_URL: "http://127.0.0.1:9/v1" };
    const { stderr } = await sandbox.runHere(search, { env, apart: true });
    const { lines, channels } = traced(stderr);
    expect(channels).toEqual(["embedding", "provider", "search", "store", "sync"]);
    expect(lines.find((line) => line.startsWith("memslot:provider"))).toMatch(/failed transient [\d.]+ ms .*=openai/u);
    expect(lines.join("\n")).not.toMatch(/WORDOF|ferry|MEMORY\.md|127\.0\.0\.1/iu);
    expect(unseenCharacter(stderr)).toBeUndefined();
  });
});

describe("MEMSLOT_DEBUG in memslot mcp", () => {
  test("prints to stderr alone: stdout holds the protocol and nothing else", async () => {
    const sandbox = await sandboxWithNote();
    const server = startServerProcess(sandbox, [], { MEMSLOT_DEBUG: "*" });
    await initialize(server);
    const answer = await callTool(server, "memory_search", { query });
    expect(JSON.stringify(answer.result)).toContain("WORDOFNOTE");
    await server.saw("memslot:search ok");
    server.stdin.end();
    await server.ended();
    expect(server.lines.filter((line) => typeof line === "string")).toEqual([]);
    const { lines, channels } = traced(server.stderr());
    expect(channels).toEqual(["search", "store", "sync"]);
    expect(lines.join("\n")).not.toMatch(/WORDOF|ferry|MEMORY\.md/iu);
  });
});

describe("an application", () => {
  /** Runs a program that can `open` the memory, to its end. */
  async function run(
    sandbox: Sandbox,
    program: string,
    env: NodeJS.ProcessEnv = {},
    onStart: (child: ChildProcess) => void = () => undefined,
  ): Promise<{ stdout: string; stderr: string; code: number }> {
    const script = `
      import { subscribe } from "node:diagnostics_channel";
      import { openMemory } from "memslot";
      const open = () => openMemory({ agentId: "main", workspaceDir: ${JSON.stringify(sandbox.workspace)} });
      ${program}
    `;
    const flags = ["--conditions=@memslot/source", "--input-type=module", "--eval", script];
    const options = {
      timeout: 300_000,
      cwd: fileURLToPath(new URL("..", import.meta.url)),
      env: { ...sandbox.env, ...env },
    };
    const running = promisify(execFile)(process.execPath, flags, options);
    onStart(running.child);
    return running.then(
      ({ stdout, stderr }) => ({ stdout, stderr, code: 0 }),
      ({ stdout, stderr, code }: { stdout: string; stderr: string; code: number }) => ({ stdout, stderr, code }),
    );
  }

  test("goes on where nobody reads its stderr any more", async () => {
    const program = data.searching.join("\n");
    const running = run(await sandboxWithNote(), program, { MEMSLOT_DEBUG: "*" }, (child) => {
      child.stderr?.destroy();
      child.stdin?.end();
    });
    expect(await running).toMatchObject({ stdout: "1", code: 0 });
  });

  const throwing = data.throwing.join("\n");

  test("has a line for each call whatever it has opened, and its answer where a listener throws", async () => {
    const program = `${throwing}
      const said = new Set();
      process.on("uncaughtException", (error) => said.add(error.message));
      const [first, second] = [await open(), await open()];
      const results = await first.search("ferry");
      await Promise.all([first.close(), second.close()]);
      process.stdout.write([results.length, told, ...said].join(" "));
    `;
    const { stdout, stderr, code } = await run(await sandboxWithNote(), program, { MEMSLOT_DEBUG: "search" });
    expect({ stdout, code }).toEqual({ stdout: "1 1 a listener", code: 0 });
    expect(traced(stderr).lines).toHaveLength(1);
  });
});
