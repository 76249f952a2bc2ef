import { type ChildProcess, execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { unseenCharacter } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { callTool, initialize, startServerProcess } from "./mcp/server.ts";
import { type Sandbox, createSandbox } from "./run-memslot.ts";

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
  test("prints a line to stderr for each call of the channels that it names, and changes no answer", async () => {
    const sandbox = await sandboxWithNote();
    const plain = await sandbox.runHere([...search, "--json"]);
    const { stdout, stderr, exitCode } = await sandbox.runHere([...search, "--json"], {
      apart: true,
      env: { MEMSLOT_DEBUG: "search,sync" },
    });
    expect({ stdout, exitCode }).toEqual({ stdout: plain.stdout, exitCode: 0 });
    expect(traced(plain.stderr).lines).toEqual([]);
    const { lines } = traced(stderr);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(
      /^memslot:sync ok [\d.]+ ms agentId=main backend=memory-core reason=search .*unchanged=1/u,
    );
    expect(lines[1]).toMatch(/^memslot:search ok [\d.]+ ms agentId=main .* queryLength=17 .* results=1 state=ok/u);
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

  test("says once which names it knows where one is none of them", async () => {
    const sandbox = await sandboxWithNote();
    const { stderr, exitCode } = await sandbox.runHere(search, { env: { MEMSLOT_DEBUG: "serach" }, apart: true });
    expect(exitCode).toBe(0);
    expect(stderr.match(/MEMSLOT_DEBUG/gu)).toHaveLength(1);
    expect(stderr).toContain(
      'memslot: MEMSLOT_DEBUG: "serach" is no channel; known are search, sync, embedding, store, provider, and * for all',
    );
    expect(traced(stderr).lines).toEqual([]);
  });

  test("is named in the help", async () => {
    const { stdout } = await (await createSandbox()).run(["--help"]);
    expect(stdout).toContain("MEMSLOT_DEBUG");
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
      timeout: 60_000,
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

  test("sees the same lines through openMemory, once for each call whatever it has opened", async () => {
    const program = `
      const [first, second] = [await open(), await open()];
      await first.search("ferry");
      await Promise.all([first.close(), second.close()]);
    `;
    const { stdout, stderr } = await run(await sandboxWithNote(), program, { MEMSLOT_DEBUG: "search" });
    expect(stdout).toBe("");
    expect(traced(stderr).lines).toHaveLength(1);
  });

  test("goes on where nobody reads its stderr any more", async () => {
    const program = `
      process.stdin.resume();
      await new Promise((resolve) => process.stdin.once("end", resolve));
      const memory = await open();
      process.stdout.write(String((await memory.search("ferry")).length));
      await memory.close();
    `;
    const running = run(await sandboxWithNote(), program, { MEMSLOT_DEBUG: "*" }, (child) => {
      child.stderr?.destroy();
      child.stdin?.end();
    });
    expect(await running).toMatchObject({ stdout: "1", code: 0 });
  });

  const throwing = `
    const events = ["start", "end", "asyncStart", "asyncEnd"];
    for (const name of ["search", "sync", "store"])
      for (const event of events) subscribe(\`tracing:memslot:\${name}:\${event}\`, () => { throw new Error("a listener"); });
    let told = 0;
    subscribe("tracing:memslot:search:asyncEnd", () => void told++);
  `;

  test("gets its answer where a listener throws, and Node tells the process of it", async () => {
    const program = `${throwing}
      const said = new Set();
      process.on("uncaughtException", (error) => said.add(error.message));
      const memory = await open();
      const results = await memory.search("ferry");
      await memory.close();
      process.stdout.write([results.length, told, ...said].join(" "));
    `;
    expect(await run(await sandboxWithNote(), program)).toMatchObject({ stdout: "1 1 a listener", code: 0 });
  });
});
