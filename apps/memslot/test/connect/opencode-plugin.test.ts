import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test, vi } from "vitest";
import { createNotes, journalOf, logsOf } from "../hook/run-hook.ts";

interface Part {
  id: string;
  sessionID: string;
  messageID: string;
  type: string;
  text: string;
  synthetic?: boolean;
}

interface Hooks {
  event(input: { event: { type: string; properties: object } }): Promise<void>;
  "chat.message"(input: { sessionID: string }, output: { message: { id: string }; parts: Part[] }): Promise<void>;
  "experimental.chat.system.transform"(input: { sessionID?: string }, output: { system: string[] }): Promise<void>;
  "experimental.session.compacting"(input: { sessionID: string }, output: { context: string[] }): Promise<void>;
}

type Plugin = (input: { client: object; directory: string }) => Promise<Partial<Hooks>>;

test("the plugin that is written for OpenCode shows notes, keeps what is said, and is one however often it is loaded", async () => {
  const sandbox = await createNotes();
  // OpenCode's process has the environment of its user; a hook is told its state folder in its line.
  for (const name of ["NODE_COMPILE_CACHE", "MEMSLOT_HOOK_DEADLINE_MS"]) vi.stubEnv(name, sandbox.env[name]);
  await sandbox.runHere(["connect", "opencode"]);
  const file = path.join(sandbox.env["HOME"] ?? "", ".config/opencode/plugins/memslot.js");
  // In place of OpenCode's own rules for what a module is.
  const module = file.replace(/\.js$/u, ".mjs");
  await writeFile(module, await readFile(file, "utf8"));
  const { memslot } = (await import(pathToFileURL(module).href)) as { memslot: Plugin };

  const messages: object[] = [];
  const client = { session: { messages: async () => ({ data: messages }) } };
  const hooks = (await memslot({ client, directory: sandbox.cwd })) as Hooks;
  expect(await memslot({ client, directory: sandbox.cwd })).toEqual({});

  const part: Part = {
    id: "prt_1",
    sessionID: "ses_1",
    messageID: "msg_1",
    type: "text",
    text: "what is the harbour code of the Lisbon marina?",
  };
  const parts = [part];
  await hooks["chat.message"]({ sessionID: "ses_1" }, { message: { id: "msg_1" }, parts });
  expect(parts).toEqual([
    part,
    { ...part, id: "prt_1m", synthetic: true, text: expect.stringContaining("HX-19") as string },
  ]);
  const system = ["You are OpenCode."];
  await hooks["experimental.chat.system.transform"]({ sessionID: "ses_1" }, { system });
  expect(system).toEqual(["You are OpenCode.", expect.stringContaining("port 5544")]);

  messages.push(
    {
      info: { id: "msg_1", role: "user", time: { created: 1 } },
      parts: [{ ...part, text: "We sail to Porto in May." }, parts[1]],
    },
    { info: { id: "msg_2", role: "assistant", time: { created: 2 } }, parts: [{ type: "text", text: "Half an answ" }] },
  );
  // A hook that fails answers nothing: the next turn brings what it did not take.
  const journal = path.join(sandbox.stateDir, "agents", "main", "journal");
  await mkdir(path.dirname(journal), { recursive: true });
  await rm(journal, { recursive: true, force: true });
  await writeFile(journal, "no folder");
  await hooks.event({ event: { type: "session.idle", properties: { sessionID: "ses_1" } } });
  await rm(journal);
  messages.push({
    info: { id: "msg_3", role: "user", time: { created: 3 } },
    parts: [{ type: "text", text: "And back in June." }],
  });
  await hooks.event({ event: { type: "session.idle", properties: { sessionID: "ses_1" } } });
  expect(await journalOf(sandbox)).toContain("And back in June.");
  expect(await journalOf(sandbox)).toContain("We sail to Porto in May.");
  expect(await journalOf(sandbox)).not.toMatch(/Half an answ|HX-19/u);
  await hooks["experimental.session.compacting"]({ sessionID: "ses_1" }, { context: [] });
  expect(await logsOf(sandbox)).toContain("We sail to Porto in May.");
  await hooks.event({ event: { type: "session.compacted", properties: { sessionID: "ses_1" } } });
  const after: string[] = [];
  await hooks["experimental.chat.system.transform"]({ sessionID: "ses_1" }, { system: after });
  expect(after.join("\n")).toContain("dropped 2 messages from");
});
