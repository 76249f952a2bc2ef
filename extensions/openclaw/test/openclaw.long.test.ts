import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startEmbeddingApi } from "@memslot/fakes/embedding-api";
import {
  type ChatBody,
  type ChatReply,
  type ChatRequest,
  type FakeChatServer,
  calls,
  says,
  startFakeChatServer,
} from "@memslot/fakes/chat";
import { insertedNote, insertedTexts } from "@memslot/fakes/inserted";
import { type FakeTelegram, startFakeTelegram } from "@memslot/fakes/telegram";
import { ownTexts } from "@memslot/indexing/host";
import { withBuild } from "@memslot/test-tools/build";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  type OpenClawGateway,
  type OpenClawHost,
  type Ran,
  createHost,
  installedOpenClaw,
  loadedBy,
  ran,
} from "./support/openclaw-host.ts";

// The real host, from npm, with the package as it is published. A start of it takes some seconds, and a minute on a machine
// that is busy: each command and each answer has a limit of its own.
vi.setConfig({ testTimeout: 3_600_000, hookTimeout: 1_200_000 });
const answerMs = 600_000;

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
    /** What the model does in a Gateway: replies in turn, and the fact that it writes down before a compaction. */
    let script: { replies: ChatReply[]; usage: { prompt_tokens: number }; flush?: string } | undefined;

    beforeAll(async () => {
      model = await startFakeChatServer(({ body }) => {
        if (script !== undefined) return scripted(body, script);
        if (body.messages.some(({ role }) => role === "tool")) return says("It listens on port 5544.");
        return found("staging database port");
      });
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

    test("help names the commands without the index, and in 2026.9.6 without loading the package", async () => {
      const help = await loadedBy(host, folder, "--help");
      expect(help.stdout).toMatch(/^ *memory \* +Search, inspect and index/mu);
      expect(help.stdout).toMatch(/^ *memslot \* +Search, inspect and index/mu);
      if (dreams) expect(help.loaded).toEqual([]);
      for (const name of ["memory", "memslot"]) {
        const { stdout, loaded } = await loadedBy(host, folder, name, "--help");
        expect(stdout).toMatch(/^ *index .*\n *search .*\n *status /mu);
        expect(loaded.join("\n")).toContain("memslot/dist/index.js");
        for (const url of [...help.loaded, ...loaded]) expect(url).not.toMatch(/sqlite|engine|command-actions/u);
      }
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
      const { stdout, stderr } = worked(await host.run(...turn));
      expect(stdout).toContain("It listens on port 5544.");
      expect(stdout + stderr).not.toContain("memory-core is loaded beside memslot");
      const [first, ...later] = model.requests.slice(asked);
      const system = JSON.stringify(first?.body.messages[0]);
      expect(system).toContain("## Memory Recall");
      // That MEMORY.md is there means that the host takes it for the owner's.
      expect(system).toContain("listens on port 5544");
      expect(first?.body.tools?.map((tool) => tool.function.name)).toEqual(
        expect.arrayContaining(["memory_search", "memory_get"]),
      );
      const answer = later.flatMap(({ body }) => body.messages).find(({ role }) => role === "tool");
      // The state tells when the machine was too busy to search everything in time.
      expect(JSON.parse(answer?.content ?? "")).toMatchObject({ results: [{ path: "MEMORY.md" }] });
    });

    describe("a Gateway with a bot in Telegram", () => {
      const [owner, group] = [
        { chatId: 1001, userId: 1001 },
        { chatId: -1005, userId: 2002 },
      ];
      let telegram: FakeTelegram;
      let gateway: OpenClawGateway;
      const note = (name: string): string => {
        const file = path.join(host.workspace, "memory", name);
        return existsSync(file) ? readFileSync(file, "utf8") : "";
      };
      /** Of any day: the suite can run over midnight. */
      const dailyLogs = (): string => {
        const names = readdirSync(path.join(host.workspace, "memory"));
        return names.map((name) => (/^\d{4}(?:-\d\d){2}\.md$/u.test(name) ? note(name) : "")).join("");
      };

      beforeAll(async () => {
        telegram = await startFakeTelegram();
        gateway = await host.gateway(telegram.url);
      });

      afterAll(async () => {
        script = undefined;
        await gateway.stop();
        await telegram.close();
      });

      /** One message and its answer; the model follows the replies, and then says nothing of importance. */
      async function turn(from: typeof owner, text: string, ...replies: ChatReply[]): Promise<ChatRequest[]> {
        const [asked, sent] = [model.requests.length, telegram.sent.length];
        script = { replies, usage: { prompt_tokens: 900 } };
        await answered(from, text, sent);
        return model.requests.slice(asked);
      }

      async function answered(from: typeof owner, text: string, sent = telegram.sent.length): Promise<void> {
        telegram.write({ ...from, text });
        const isAnswered = (): boolean => telegram.sent.slice(sent).some(({ chatId }) => chatId === from.chatId);
        await until(isAnswered);
        expect(isAnswered(), gateway.output().slice(-2000)).toBe(true);
      }

      test("a chat with the owner has the notes, and finds them", async () => {
        const requests = await turn(
          owner,
          "Which port does staging use?",
          found("staging database port"),
          says("5544."),
        );
        expect(JSON.stringify(requests[0]?.body.messages[0])).toContain("listens on port 5544");
        expect(toolAnswers(requests)).toContain("listens on port 5544");
      });

      test("a group gets nothing of them", async () => {
        const reads = calls({ name: "memory_get", arguments: '{"path":"MEMORY.md"}' });
        const requests = await turn(
          group,
          "Which port is it?",
          found("staging database port"),
          reads,
          says("No idea."),
        );
        expect(requests).toHaveLength(3);
        expect(toolAnswers(requests)).toContain("PATH_NOT_ALLOWED");
        expect(toolAnswers(requests)).not.toContain("5544");
        if (dreams) expect(JSON.stringify(requests.map(({ body }) => body))).not.toContain("5544");
      });

      test("what memslot inserted into messages is in no note that is kept of the conversation", async () => {
        const inserted = insertedTexts(ownTexts);
        // All ten wrappers, each around one of the two texts.
        for (const text of inserted.filter((_, index) => index % 2 === (index < inserted.length / 2 ? 0 : 1)))
          await turn(owner, text);
        await turn(owner, "The walrus is called Waldemar.");
        const before = readdirSync(path.join(host.workspace, "memory"));
        await turn(owner, "/new");
        const kept = (): string[] =>
          readdirSync(path.join(host.workspace, "memory")).filter((name) => !before.includes(name));
        await until(() => kept().some((name) => note(name).includes("Waldemar")));
        const excerpt = kept().find((name) => note(name).includes("Waldemar")) ?? "";
        expect(note(excerpt)).toContain(insertedNote);
        const requests = await turn(
          owner,
          "Look for zebras.",
          found("noise zebra"),
          found("walrus Waldemar"),
          says("Done."),
        );
        const answers = requests.at(-1)?.body.messages.filter(({ role }) => role === "tool") ?? [];
        const [noise = "", walrus = ""] = answers.slice(-2).map(({ content }) => content ?? "");
        expect(JSON.parse(noise)).toMatchObject({ results: [] });
        expect(walrus).toContain(`memory/${excerpt}`);
        for (const text of [insertedNote, ...Object.values(ownTexts)]) expect(walrus).not.toContain(text.slice(0, 30));
      });

      test.each([
        { who: "the owner", from: owner, bird: "heron", first: "Look for zebras." },
        { who: "a group", from: group, bird: "osprey", first: "Which port is it?" },
      ])(
        "before the conversation of $who is compacted, its facts are in the log of the day",
        async ({ from, bird, first }) => {
          const fact = `The mast of the ${bird} is of ash.`;
          const asked = model.requests.length;
          script = { replies: [], usage: { prompt_tokens: 105_000 }, flush: fact };
          await answered(from, `${fact} ${"It is a long story. ".repeat(80)}`);
          // 2026.7.35 writes the log with the next message, which in 2026.9.6 would end the turn that writes it.
          if (!dreams) await answered(from, "And its sail?");
          await until(() => dailyLogs().includes(fact));
          expect(dailyLogs()).toContain(fact);
          await turn({ ...from, userId: owner.userId }, "/compact");
          const requests = model.requests.slice(asked);
          expect(JSON.stringify(requests[0]?.body.messages)).toContain(first);
          const flush = requests.findIndex(({ body }) => isFlush(body));
          expect(toolsOf(requests[flush]?.body).toSorted()).toEqual(["read", "write"]);
          expect(requests.findIndex(({ body }) => toolsOf(body).length === 0)).toBeGreaterThan(flush);
          const after = await turn(from, "And the mast?", found(`mast ${bird}`), says("Done."));
          expect(JSON.stringify(after[0]?.body.messages)).toContain("A summary");
          // The latest messages stay. The channel repeats earlier ones inside the message that it brings.
          expect(JSON.stringify(after[0]?.body.messages.slice(0, -1))).not.toContain(first);
          const isOwner = from === owner;
          expect(toolAnswers(after).includes(fact)).toBe(isOwner);
        },
      );
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

const found = (query: string): ChatReply => calls({ name: "memory_search", arguments: JSON.stringify({ query }) });
const toolsOf = (body?: ChatBody): string[] => body?.tools?.map((tool) => tool.function.name) ?? [];
const isFlush = (body: ChatBody): boolean =>
  toolsOf(body).length === 2 && JSON.stringify(body.messages).includes("Pre-compaction memory flush");
const toolAnswers = (requests: readonly ChatRequest[]): string =>
  requests
    .flatMap(({ body }) => body.messages.flatMap(({ role, content }) => (role === "tool" ? content : [])))
    .join("\n");

function scripted(
  body: ChatBody,
  script: { replies: ChatReply[]; usage: { prompt_tokens: number }; flush?: string },
): ChatReply {
  if (toolsOf(body).length === 0) return says("## Goal\n\nA summary of the conversation.\n");
  if (!isFlush(body)) return script.replies.shift() ?? says("Noted.", script.usage);
  const { flush } = script;
  delete script.flush;
  const [, file] = /Add to (memory\/[\d-]+\.md)/u.exec(JSON.stringify(body.messages)) ?? [];
  if (flush === undefined) return says("NO_REPLY");
  return calls({ name: "write", arguments: JSON.stringify({ path: file, content: `- ${flush}\n` }) });
}

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

/** Waits until something is so, at most for `answerMs`. */
async function until(holds: () => boolean): Promise<void> {
  for (const end = performance.now() + answerMs; !holds() && performance.now() < end;) await sleep(200);
}
