import { chmod, chown, lstat, mkdir, readFile, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { type Server, type Socket, createServer } from "node:net";
import path from "node:path";
import { makeFolder } from "@memslot/test-tools/files";
import { eventually } from "@memslot/test-tools/wait";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type Asked, serverKey, socketPrefix } from "../../src/warm-hook.ts";
import { initialize, startServerProcess } from "../mcp/server.ts";
import { type Finished, type Sandbox, command } from "../run-memslot.ts";
import events from "./events.json" with { type: "json" };
import { ask, contextOf, createNotes, journalOf, runFolder, sendTo, served, socketsOf, spawnHook } from "./run-hook.ts";

const question = "which port does the staging database listen on?";
const asking = (session: string): object => ({
  session_id: session,
  hook_event_name: "UserPromptSubmit",
  prompt: question,
});

/** An answer without the random key of its frames. */
const plain = (text: string): string => text.replaceAll(/[0-9a-f]{24}/gu, "KEY");

describe.skipIf(process.platform === "win32")("a hook beside a running memslot mcp", () => {
  describe("of one workspace", () => {
    let sandbox: Sandbox;
    beforeAll(async () => {
      sandbox = await createNotes(makeFolder());
    });
    afterAll(() => rm(sandbox.folder, { recursive: true, force: true }));

    test("gets the same answer to each recorded event as without it", async () => {
      await served(sandbox);
      let answered = 0;
      for (const [index, { client, input }] of events.entries()) {
        const sent = (way: string): string => JSON.stringify(input).replaceAll("SESSION", `${way}-${index}`);
        const alone = await sendTo(sandbox, client as "codex", sent("alone"));
        const { answer = "none" } = await ask(sandbox, client, sent("served"));
        expect([client, index, plain(answer)]).toEqual([client, index, plain(alone.stdout)]);
        if (answer !== "") answered++;
      }
      expect(answered).toBeGreaterThan(10);
    });

    test.each<[string, readonly string[], NodeJS.ProcessEnv?]>([
      ["another agent", ["--agent", "main"]],
      ["another configuration", ["--config", "/nowhere.json5"]],
      ["a relative path", ["--config", "memslot.json5"]],
      ["another state folder", ["--home", "/nowhere"]],
      ["an unknown option", ["--what"]],
      ["an option in another form", ["--recall=off"]],
      ["an unknown recall mode", ["--recall", "much"]],
      ["another time zone", [], { TZ: "Asia/Tokyo" }],
      ["another configuration by its environment", [], { MEMSLOT_CONFIG: "" }],
    ])("does its work itself with %s", async (_, more, env = {}) => {
      await served(sandbox);
      const file = path.join(sandbox.folder, "other.json5");
      await writeFile(file, "{}");
      const own = "MEMSLOT_CONFIG" in env ? { MEMSLOT_CONFIG: file } : env;
      expect((await ask(sandbox, "claude-code", asking("other"), { more, env: own })).answer).toBeUndefined();
    });
  });

  describe("with a workspace for each test", () => {
    let sandbox: Sandbox;
    beforeEach(async () => {
      sandbox = await createNotes();
    });

    test("stores messages once and misses no option", async () => {
      await served(sandbox);
      const message = { id: "u1", role: "user", text: "We sail to Porto.", at: "2026-05-01T08:00:00Z" };
      const stop = { session_id: "s", cwd: "/a", hook_event_name: "stop", messages: [message] };
      expect(await ask(sandbox, "opencode", stop, { more: ["--read-only"] })).toMatchObject({
        answer: expect.any(String),
      });
      expect(await journalOf(sandbox)).toBe("");
      for (const turn_id of ["1", "2"]) await ask(sandbox, "opencode", { ...stop, turn_id });
      expect((await journalOf(sandbox)).split("We sail to Porto.")).toHaveLength(2);
      expect(await ask(sandbox, "claude-code", asking("off"), { more: ["--recall", "off"] })).toEqual({ answer: "" });
    });

    test("reads the configuration as it is now, and no event twice", async () => {
      await served(sandbox);
      expect((await ask(sandbox, "claude-code", asking("one"))).answer).toContain("5544");
      expect(await ask(sandbox, "claude-code", asking("one"))).toEqual({ answer: "" });
      expect((await sendTo(sandbox, "claude-code", asking("one"))).stdout).toBe("");
      const text = "- The staging database listens on port 6655.\n";
      await sandbox.write("MEMORY.md", text);
      await sandbox.runHere(["memory", "index"]);
      expect((await ask(sandbox, "claude-code", asking("two"))).answer).toContain("6655");
    });

    test("does its work itself where the configuration names a variable that the server lacks", async () => {
      const file = path.join(sandbox.stateDir, "memslot.json5");
      await writeFile(file, "{}");
      await served(sandbox);
      const env = { ZONE_HERE: "Asia/Tokyo" };
      expect((await ask(sandbox, "claude-code", asking("one"), { env })).answer).toContain("5544");
      await writeFile(file, '{ agents: { defaults: { userTimezone: "${ZONE_HERE}" } } }');
      expect(await ask(sandbox, "claude-code", asking("two"), { env })).toEqual({ input: expect.any(Buffer) });
    });

    test("handles an event again that its server has not finished", async () => {
      const start = { session_id: "s", hook_event_name: "SessionStart", source: "startup" };
      for (const [more, answers] of [
        [[], true],
        [[], false],
        [["--again"], true],
      ] as const)
        expect(contextOf(await sendTo(sandbox, "claude-code", start, ...more)).includes("5544")).toBe(answers);
    });

    test("ends at its deadline, and doctor counts missed deadlines", async () => {
      await served(sandbox);
      const late = { env: { MEMSLOT_HOOK_DEADLINE_MS: "1" } };
      const { answer = "" } = await ask(sandbox, "codex", asking("late"), late);
      expect(answer).toBe("");
      await sandbox.runHere(["hook", "codex"], { ...late, runningMs: 5, stdin: JSON.stringify(asking("later")) });
      const missed = path.join(sandbox.stateDir, "hooks", "missed.jsonl");
      const lines = (await readFile(missed, "utf8")).trim().split("\n").length;
      await writeFile(missed, `{\n{"client":"gemini","at":"2020-01-01T00:00:00Z"}\n${await readFile(missed, "utf8")}`);
      const { stdout } = await sandbox.runHere(["doctor"]);
      expect(stdout).toMatch(new RegExp(`codex: in the last 7 days ${lines} events? missed the deadline`, "u"));
      expect(stdout).not.toContain("gemini: in the last");
    });

    test.each<[string, (file: string) => Promise<unknown>]>([
      ["the socket is open to others", (file) => chmod(file, 0o666)],
      ["the folder is open to others", (file) => chmod(path.dirname(file), 0o755)],
      ["the folder is a link", (file) => moveAndLink(path.dirname(file))],
      ["the socket is a link", moveAndLink],
      // Only root can give a file away; for others the case before holds.
      [
        "the socket belongs to another user",
        (file) => (process.getuid?.() === 0 ? chown(file, 12345, 12345) : chmod(file, 0o666)),
      ],
    ])("does not ask where %s", async (_, change) => {
      await served(sandbox);
      const [file = ""] = await socketsOf(sandbox);
      expect((await lstat(file)).mode & 0o777).toBe(0o600);
      expect((await lstat(path.dirname(file))).mode & 0o777).toBe(0o700);
      await change(file);
      expect(await ask(sandbox, "claude-code", asking("s"))).toEqual({});
    });

    test.each<[string, (socket: Socket, greeting: string) => unknown, Partial<Asked>]>([
      ["says nothing", () => undefined, {}],
      ["is of another version", (socket, greeting) => socket.write(greeting.replace(/\d/u, "99")), {}],
      ["ends in the middle of an event", (socket, greeting) => replyWith(socket, greeting, ""), { again: true }],
      ["ends in the middle of its answer", (socket, greeting) => replyWith(socket, greeting, "9\n{"), { again: true }],
      ["answers more than it says", (socket, greeting) => replyWith(socket, greeting, "1\n{}"), { again: true }],
      ["refuses", (socket, greeting) => replyWith(socket, greeting, "cold\n"), {}],
    ])("does its work itself where the server %s", async (_, reply, expected) => {
      const key = serverKey({ workspace: sandbox.workspace }) ?? "";
      await listenAt(sandbox, key, (socket) => void reply(socket, `${key}\n`));
      const { answer, again, input } = await ask(sandbox, "claude-code", asking("s"));
      expect({ answer, ...(again === true && { again }) }).toEqual({ answer: undefined, ...expected });
      if (again === true) expect(JSON.parse(String(input))).toEqual(asking("s"));
    });

    test("hands over no key", async () => {
      const key = serverKey({ workspace: sandbox.workspace }) ?? "";
      let request = "";
      await listenAt(sandbox, key, (socket) => {
        socket.write(`${key}\n`);
        socket.once("data", (part) => {
          request = String(part);
          socket.end("cold\n");
        });
      });
      await ask(sandbox, "claude-code", asking("s"), { env: { OPENAI_API_KEY: "sk-secret", CODEX_HOME: "/codex" } });
      expect(request).toContain("/codex");
      expect(request).not.toContain("sk-secret");
    });

    test("does not pass input that is not an event to the server", async () => {
      await served(sandbox);
      for (const text of ["", "{", "[]", "\u0000".repeat(1000), "[".repeat(100_000)])
        expect(await ask(sandbox, "claude-code", text)).toEqual({ answer: "" });
      const huge = await ask(sandbox, "claude-code", "x".repeat(17 * 1024 * 1024));
      expect(huge.answer).toBeUndefined();
      expect(huge.input?.length).toBeGreaterThan(16 * 1024 * 1024);
      expect((await ask(sandbox, "claude-code", asking("after"))).answer).toContain("5544");
    });

    test("is answered by its own process where the server is stopped, was killed, or has ended", async () => {
      const server = startServerProcess(sandbox);
      await initialize(server);
      await eventually(async () => (await socketsOf(sandbox)).length === 1);
      const script = path.join(sandbox.folder, "hook.mjs");
      const [warm, cli] = ["../../src/warm-hook.ts", "../../src/cli.ts"].map(
        (each) => new URL(each, import.meta.url).href,
      );
      // As the launcher does it; an answer of the server is marked.
      await writeFile(
        script,
        `import { isAnsweredByServer } from ${JSON.stringify(warm)};
        if (await isAnsweredByServer((env) => env.MEMSLOT_HOME)) process.stderr.write("served");
        else await import(${JSON.stringify(cli)});`,
      );
      const program = [...command.slice(0, -1), script];
      const answer = async (session: string): Promise<[string, boolean]> => {
        const finished: Finished = await spawnHook(sandbox, "claude-code", asking(session), { program });
        expect(finished.exitCode).toBe(0);
        return [finished.stderr, contextOf(finished).includes("5544")];
      };
      expect(await answer("running")).toEqual(["served", true]);
      server.child.kill("SIGSTOP");
      expect(await answer("stopped")).toEqual(["", true]);
      server.child.kill("SIGKILL");
      await server.ended();
      expect(await answer("killed")).toEqual(["", true]);

      // The next server removes what the killed one has left, and its own socket when it ends.
      const [left = ""] = await socketsOf(sandbox);
      await utimes(left, new Date(0), new Date(0));
      const next = startServerProcess(sandbox);
      await initialize(next);
      await eventually(async () => (await socketsOf(sandbox)).every((file) => file !== left));
      await eventually(async () => (await socketsOf(sandbox)).length === 1);
      expect(await answer("next")).toEqual(["served", true]);
      next.stdin.end();
      await next.ended();
      expect(await socketsOf(sandbox)).toEqual([]);
      expect(await answer("ended")).toEqual(["", true]);
    });

    test("is answered by the second server of a workspace when the first has ended", async () => {
      const first = startServerProcess(sandbox);
      await served(sandbox).catch(() => undefined);
      await initialize(first);
      await eventually(async () => (await socketsOf(sandbox)).length === 2);
      first.child.kill("SIGKILL");
      await first.ended();
      expect((await ask(sandbox, "claude-code", asking("s"))).answer).toContain("5544");
    });
  });
});

async function moveAndLink(file: string): Promise<void> {
  const other = path.join(path.dirname(path.dirname(file)), `moved-${path.basename(file)}`);
  await rename(file, other);
  await symlink(other, file);
}

/** Greets, and ends with this reply once the event has arrived. */
function replyWith(socket: Socket, greeting: string, reply: string): void {
  socket.write(greeting);
  socket.once("data", () => socket.end(reply));
}

async function listenAt(sandbox: Sandbox, key: string, onSocket: (socket: Socket) => void): Promise<void> {
  await mkdir(runFolder(sandbox), { mode: 0o700 });
  const file = path.join(runFolder(sandbox), `${socketPrefix(key)}1.sock`);
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket.on("error", () => undefined));
    onSocket(socket);
  });
  await new Promise<void>((resolve) => server.listen(file, resolve));
  await chmod(file, 0o600);
  onTestFinished(() => {
    sockets.forEach((socket) => socket.destroy());
    server.close();
  });
}
