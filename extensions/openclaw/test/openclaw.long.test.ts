import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { type ChatReply, type FakeChatServer, calls, says, startFakeChatServer } from "@memslot/fakes/chat";
import { withBuild } from "@memslot/test-tools/build";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type OpenClawHost, type Ran, createHost, installedOpenClaw, ran } from "./support/openclaw-host.ts";

// The real host, from npm, with the package as it is published. A start of it takes some seconds.
vi.setConfig({ testTimeout: 400_000, hookTimeout: 400_000 });

const folder = mkdtempSync(path.join(os.tmpdir(), "memslot-openclaw-"));
const own = path.resolve(import.meta.dirname, "..");
let tarball = "";

beforeAll(async () => {
  const pack = ["pack", "--pack-destination", folder];
  const packed = await withBuild(() => ran("pnpm", pack, { cwd: own, timeoutMs: 60_000 }));
  if (packed.exitCode !== 0) throw new Error(`the plugin could not be packed: ${packed.stderr}`);
  tarball = path.join(folder, readdirSync(folder).find((name) => name.endsWith(".tgz")) ?? "");
});

afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

const versions = [
  { version: "2026.9.6", installFlags: ["--force", "--accept-capabilities"], dreams: true },
  { version: "2026.7.35", installFlags: [], dreams: false },
];

describe.each(versions)("openclaw@$version", async ({ version, installFlags, dreams }) => {
  const program = await installedOpenClaw(version, folder);

  describe.skipIf(program === undefined)("with memslot in its memory slot", () => {
    let host: OpenClawHost;
    let model: FakeChatServer;
    /** What the model says, where the host is to compact: it is told of each request what it holds. */
    let flush: ((messages: string, tools: readonly string[]) => ChatReply) | undefined;
    /** The tool that the model calls, where it is not the usual search. */
    let next: { name: string; arguments: string } | undefined;

    beforeAll(async () => {
      model = await startFakeChatServer(({ body }) =>
        flush !== undefined
          ? flush(JSON.stringify(body.messages), body.tools?.map((tool) => tool.function.name) ?? [])
          : body.messages.some(({ role }) => role === "tool")
            ? says("It listens on port 5544.")
            : calls(next ?? { name: "memory_search", arguments: '{"query":"staging database port"}' }),
      );
      host = createHost(program ?? "", folder, model.baseUrl);
      worked(await host.run("plugins", "install", tarball, ...installFlags));
    });

    afterAll(() => model.close());

    test("its installation fills the slot", () => {
      expect(host.config()).toMatchObject({ plugins: { slots: { memory: "memslot" } } });
    });

    test.runIf(dreams)("says that dreaming keeps command and tools of memory, and how to have them", async () => {
      const turn = ["agent", "--local", "--session-id", "early", "--message", "Which port does staging use?"];
      const { stdout: said, stderr } = worked(await host.run(...turn));
      expect(said + stderr).toContain("memory-core is loaded beside memslot");
      const { stdout, stderr: nothing } = worked(await host.run("memslot", "status"));
      expect(nothing).toBe("");
      expect(stdout).toContain("Memory (main), by memslot");
      expect(stdout).toContain("plugins.entries.memslot.config.dreaming.enabled false");
      worked(await host.run("config", "set", "plugins.entries.memslot.config.dreaming.enabled", "false"));
      expect(worked(await host.run("memslot", "status")).stdout).not.toContain("Dreaming");
    });

    test("openclaw memory search finds the right note", async () => {
      const { stdout, stderr } = worked(await host.run("memory", "search", "on which port is staging", "--json"));
      expect(stderr).toBe("");
      const { results } = JSON.parse(stdout) as { results: object[] };
      expect(results[0]).toMatchObject({
        path: "MEMORY.md",
        startLine: 1,
        endLine: 3,
        snippet: expect.stringContaining("5544") as string,
      });
    });

    test("openclaw memory status and index tell what is indexed", async () => {
      const indexed = worked(await host.run("memory", "index"));
      expect(indexed).toMatchObject({ stderr: "", stdout: expect.stringContaining("main: ") as string });
      const { stdout, stderr } = worked(await host.run("memory", "status", "--json"));
      expect(stderr).toBe("");
      expect(JSON.parse(stdout)).toEqual([
        {
          agentId: "main",
          status: expect.objectContaining({ backend: "builtin", workspaceDir: host.workspace }) as object,
        },
      ]);
    });

    test("a search that says nothing is an error that says what to write", async () => {
      const { exitCode, stdout } = await host.run("memory", "search", "--json");
      expect(exitCode).toBe(1);
      expect(JSON.parse(stdout)).toMatchObject({
        ok: false,
        error: { message: expect.stringContaining("openclaw memory") as string },
      });
    });

    test("a turn of the agent searches the notes by its tool, and has them in its context", async () => {
      const asked = model.requests.length;
      const turn = ["agent", "--local", "--session-id", "one", "--message", "Which port does staging use?"];
      expect(worked(await host.run(...turn)).stdout).toContain("It listens on port 5544.");
      const [first, ...later] = model.requests.slice(asked);
      const system = JSON.stringify(first?.body.messages[0]);
      expect(system).toContain("## Memory Recall");
      // That MEMORY.md is there means that the host takes it for the owner's.
      expect(system).toContain("listens on port 5544");
      expect(first?.body.tools?.map((tool) => tool.function.name)).toEqual(
        expect.arrayContaining(["memory_search", "memory_get"]),
      );
      const answer = later.flatMap(({ body }) => body.messages).find(({ role }) => role === "tool");
      expect(JSON.parse(answer?.content ?? "")).toMatchObject({ state: "ok", results: [{ path: "MEMORY.md" }] });
    });

    test("a group finds nothing of the owner's notes by its tools, and can read none", async () => {
      for (const tool of [
        { name: "memory_search", arguments: '{"query":"staging database port"}' },
        { name: "memory_get", arguments: '{"path":"MEMORY.md"}' },
      ]) {
        next = tool;
        const asked = model.requests.length;
        const key = `agent:main:telegram:group:${tool.name}`;
        const { stdout, stderr } = worked(
          await host.run("agent", "--local", "--session-key", key, "--message", "Which port does staging use?"),
        );
        expect(stdout + stderr).not.toContain("memory-core is loaded beside memslot");
        const requests = model.requests.slice(asked);
        const messages = requests.flatMap(({ body }) => body.messages);
        expect(messages.some(({ role }) => role === "tool")).toBe(true);
        const told = messages.filter(({ role }) => role === "tool");
        expect(JSON.stringify(told)).not.toContain("5544");
        // What the host itself puts before a conversation: 2026.7.35 puts MEMORY.md before that of a group too.
        const system = messages.filter(({ role }) => role === "system" || role === "developer");
        if (dreams) expect(JSON.stringify(system)).not.toContain("5544");
      }
      next = undefined;
    });

    test("the settings of memory are understood where this version writes them, and bring vectors", async () => {
      const api = await startEmbeddingApi();
      const remote = { baseUrl: `${api.url}/v1`, apiKey: "test-key" };
      const place = dreams ? "memory.search" : "agents.defaults.memorySearch";
      const search = { provider: "openai", model: "text-embedding-3-small", remote };
      worked(await host.run("config", "set", place, JSON.stringify(search), "--json"));
      const { stdout } = worked(await host.run("memory", "status", "--index", "--json"));
      expect(JSON.parse(stdout)).toMatchObject([
        { embeddingProbe: { ok: true }, status: { provider: "openai", custom: { searchMode: "hybrid" } } },
      ]);
      expect(api.stats().texts).toBeGreaterThan(1);
      await api.close();
    });

    test.runIf(dreams)(
      "before a conversation is compacted, what the model notes is in the log of the day, and is found",
      async () => {
        const offered: string[][] = [];
        const day = new Intl.DateTimeFormat("sv-SE").format(new Date());
        const log = path.join(host.workspace, "memory", `${day}.md`);
        const isNoted = (): boolean => existsSync(log) && readFileSync(log, "utf8").includes("of ash.");
        const fullOf = { prompt_tokens: 127_000, completion_tokens: 5, total_tokens: 127_005 };
        flush = (messages, tools) => {
          if (!messages.includes("Pre-compaction memory flush")) return says("Noted.", fullOf);
          offered.push([...tools]);
          if (isNoted()) return says("NO_REPLY");
          const note = { path: `memory/${day}.md`, content: "- The mast of the heron is of ash.\n" };
          return calls({ name: "write", arguments: JSON.stringify(note) });
        };
        const gateway = await host.gateway();
        try {
          for (let turn = 0; turn < 6 && !isNoted(); turn++) {
            await gateway.send("agent:main:main", `The mast is of ash, part ${turn}.`);
            await until(isNoted, 15_000);
          }
          await until(isNoted, 120_000);
          expect(isNoted()).toBe(true);
          // The turn is the host's; what it is told, and where it may write, is memslot's plan.
          expect(offered[0]?.toSorted()).toEqual(["read", "write"]);
        } finally {
          await gateway.stop();
          flush = undefined;
        }
        const { stdout } = worked(await host.run("memory", "search", "mast of the heron", "--json"));
        expect(stdout).toContain(`memory/${day}.md`);
      },
    );

    test("uninstalled, it leaves the notes as they were and an index that can be deleted", async () => {
      const notes = read(host.workspace);
      worked(await host.run("plugins", "uninstall", "memslot", "--force"));
      const { plugins = {} } = host.config() as { plugins?: { slots?: { memory?: string } } };
      expect(plugins.slots?.memory ?? "memory-core").toBe("memory-core");
      expect(existsSync(path.join(host.stateDir, "extensions/memslot"))).toBe(false);
      expect(read(host.workspace)).toEqual(notes);
      rmSync(path.join(host.stateDir, "memslot"), { recursive: true });
      // memory-core's own index, where the host keeps it.
      const { stdout } = worked(await host.run("memory", "status", "--json"));
      expect(JSON.parse(stdout)).toMatchObject([
        { status: { dbPath: expect.stringContaining("openclaw-agent.sqlite") as string } },
      ]);
      expect(readdirSync(host.stateDir)).not.toContain("memslot");
    });
  });
});

/** What a command printed, which has to have ended well. */
function worked(result: Ran): Ran {
  expect(result.exitCode, `${result.stdout}\n${result.stderr}`).toBe(0);
  return result;
}

function read(workspace: string): Record<string, string> {
  return Object.fromEntries(
    ["MEMORY.md", "memory/2026-03-02.md"].map((name) => [name, readFileSync(path.join(workspace, name), "utf8")]),
  );
}

/** Waits until something is so, or for so long. */
async function until(holds: () => boolean, ms: number): Promise<void> {
  for (const end = performance.now() + ms; !holds() && performance.now() < end;) await sleep(200);
}
