import { spawn } from "node:child_process";
import { once } from "node:events";
import { type EmbeddingApi, startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { agents } from "@memslot/indexing/host";
import { handedEnvironment } from "../src/warm-hook.ts";
import { ask, createNotes, served } from "./hook/run-hook.ts";
import { callTool, initialize, startServer } from "./mcp/server.ts";
import { type Sandbox, command } from "./run-memslot.ts";

const question = "which port does the staging database listen on?";
const event = (session: string): string =>
  JSON.stringify({ session_id: session, hook_event_name: "UserPromptSubmit", prompt: question });
const shells = agents.flatMap(({ environment }) => environment?.shell ?? []);

let api: EmbeddingApi;
beforeAll(async () => {
  api = await startEmbeddingApi({ dimensions: 32 });
});
afterAll(() => api.close());

describe("the keys in an agent's environment", () => {
  let sandbox: Sandbox;
  let keys: NodeJS.ProcessEnv;
  let usedByUser: number;
  beforeEach(async () => {
    sandbox = await createNotes();
    keys = { OPENAI_API_KEY: "sk-agent", GEMINI_API_KEY: "gk-agent", OPENAI_BASE_URL: `${api.url}/v1` };
    api.reset();
    // The user's own shell: there they count, and the index has vectors.
    await sandbox.runHere(["memory", "index"], { env: keys });
    usedByUser = api.stats().embeddingRequests;
    api.reset();
  });

  /** Each way in which an agent runs memslot. */
  const ways: Record<string, () => Promise<unknown>> = {
    async mcp() {
      const server = startServer(sandbox, [], keys);
      await initialize(server);
      await callTool(server, "memory_search", { query: question });
      server.stdin.end();
      await server.ended();
      return server.stderr();
    },
    async hook() {
      const { stdout } = await sandbox.runHere(["hook", "claude-code"], { stdin: event("cold"), env: keys });
      expect(stdout).toContain("5544");
    },
    async "hook beside a server"() {
      await served(sandbox, keys);
      const { answer } = await ask(sandbox, "claude-code", event("warm"), { env: keys });
      expect(answer).toContain("5544");
    },
    ...Object.fromEntries(
      shells.map((shell) => [
        `memory search in a shell with ${shell}`,
        async () => (await sandbox.runHere(["memory", "search", question], { env: { ...keys, [shell]: "1" } })).stderr,
      ]),
    ),
    "memory index": async () =>
      (await sandbox.runHere(["memory", "index"], { env: { ...keys, CLAUDECODE: "1" } })).stderr,
    async ui() {
      const [program = "", ...words] = [...command, "ui", "--json", "--workspace", sandbox.workspace];
      const child = spawn(program, words, { cwd: sandbox.cwd, env: { ...sandbox.env, ...keys, CLAUDECODE: "1" } });
      const ended = once(child, "close");
      let stderr = "";
      child.stderr.on("data", (part: Buffer) => (stderr += part.toString()));
      await Promise.race([once(child.stdout, "data"), ended]);
      child.kill();
      await ended;
      return stderr;
    },
  };

  test("are not handed to a server by a hook, and the folders of every agent are", () => {
    const folders = JSON.stringify(agents).matchAll(/\$([A-Z_]{3,})/gu);
    const names = new Set([...folders].map(([, name = ""]) => name));
    const all = Object.fromEntries(
      [...names, ...Object.keys(keys), "AWS_SECRET_ACCESS_KEY", "MEMSLOT_MCP_TOKEN"].map((name) => [name, "x"]),
    );
    const handed = Object.entries(handedEnvironment(all)).flatMap(([name, value]) => (value === undefined ? [] : name));
    expect(handed.toSorted()).toEqual([...names].toSorted());
  });

  test.each(Object.entries(ways))("are not used by %s where the configuration names no provider", async (_, run) => {
    const messages = await run();
    if (messages !== undefined)
      expect(messages).toContain("OPENAI_API_KEY and GEMINI_API_KEY from the agent are not used");
    expect(usedByUser).toBeGreaterThan(0);
    expect(api.log).toEqual([]);
  });
});
