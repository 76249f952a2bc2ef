import { readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { openSessions } from "@memslot/agent-kit";
import { expect, onTestFinished, test } from "vitest";
import { createPlace, examplesFolder, lastToolResult, startModel, type ChatRequest } from "../support/doc-examples.ts";
import given from "../data/openai-agents.json" with { type: "json" };

const program = "openai-agents-sdk.ts";
const files = { "memory/2026-03-02.md": "# 2026-03-02\n\n- The staging database listens on port 5544.\n" };
const search = { name: "memory_search", arguments: '{"query":"staging database port"}' };

function rolesOf({ messages }: ChatRequest): string[] {
  return messages.map(({ role }) => role);
}

/** The part of the program's `Session` that the SDK needs. */
interface ItemStore {
  getSessionId(): Promise<string>;
  getItems(limit?: number): Promise<unknown[]>;
  addItems(items: unknown[]): Promise<void>;
  popItem(): Promise<unknown>;
  clearSession(): Promise<void>;
}

test("goes on with the conversation in a second run, also where the first was cut short, and keeps keys apart", async () => {
  const place = createPlace(files);
  const answer = { text: "It is port 5544." };
  const model = await startModel((request, index) => {
    if (index === 0) return search;
    // From the second question on it calls tools until it may not.
    return index > 1 && request.tool_choice !== "none" ? search : answer;
  });
  const ask = async (...args: string[]): Promise<ChatRequest | undefined> => {
    const from = model.requests.length;
    const { exitCode, stderr, stdout } = await place.run(program, [place.notes, ...args], model.env);
    expect({ exitCode, stderr, stdout }).toMatchObject({ exitCode: 0, stdout: "It is port 5544.\n" });
    return model.requests[from];
  };

  await ask("Which port?");
  const second = await ask("Are you sure?");
  const first = ["user", "assistant", "tool", "assistant"];
  expect(second && rolesOf(second)).toEqual(["system", ...first, "user"]);
  expect(second?.messages.at(1)?.content).toBe("Which port?");
  expect(second?.messages.at(3)?.content).toContain("listens on port 5544");
  expect(JSON.stringify(second?.messages.at(4)?.content)).toContain(answer.text);
  expect(second?.messages.at(5)?.content).toBe("Are you sure?");
  // Who has to answer without tools knows what was said before, too.
  const forced = model.requests.at(-1);
  expect(forced?.tool_choice).toBe("none");
  expect(forced?.messages.at(1)?.content).toBe("Which port?");

  const third = await ask("And now?");
  const turns = Array.from({ length: 8 }, () => ["assistant", "tool"]).flat();
  expect(third && rolesOf(third)).toEqual(["system", ...first, "user", ...turns, "assistant", "user"]);

  const other = await ask("Hello?", "agent:main:telegram:direct:7");
  expect(other && rolesOf(other)).toEqual(["system", "user"]);
});

test("ends also where the model calls tools although it may not", async () => {
  const place = createPlace(files);
  const model = await startModel(() => search);
  const { stdout, exitCode } = await place.run(program, [place.notes, "Which port?"], model.env);
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: "(the model gave no answer)\n" });
  expect(model.requests).toHaveLength(9);
});

// Windows has no signals that a process can take.
test.skipIf(process.platform === "win32")(
  "closes its session when it is interrupted while the model thinks",
  async () => {
    const place = createPlace(files);
    const model = await startModel(() => ({ text: "It is too late." }));
    const preload = given.preload.join("\n");
    const flags = ["--import", `data:text/javascript,${encodeURIComponent(preload)}`];
    const { stdout, stderr, exitCode } = await place.run(program, [place.notes, "Which port?"], model.env, flags);
    expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 1 });
    expect(stderr).toMatch(/abort/iu);
    const folder = path.join(place.folder, ".memslot/agents/main/sessions");
    const names = readdirSync(folder);
    expect(names).toContain("sessions.json");
    expect(names.filter((name) => name.endsWith(".lock"))).toEqual([]);
  },
);

test("what was said is found in the transcripts", async () => {
  const place = createPlace(files);
  const env = { MEMSLOT_CONFIG: path.join(place.folder, "memslot.json5") };
  writeFileSync(
    env.MEMSLOT_CONFIG,
    '{ agents: { defaults: { memorySearch: { sources: ["memory", "sessions"], sync: { sessions: { deltaMessages: 0 } } } } } }',
  );
  const find = { name: "memory_search", arguments: '{"query":"spare key teapot","corpus":"sessions"}' };
  const model = await startModel((request, index) => {
    if (index === 0) return { text: "Noted: the teapot guards it." };
    const result = lastToolResult(request);
    return result === undefined ? find : { text: JSON.stringify(result) };
  });
  const said = "The spare key hangs behind the blue teapot.";
  await place.run(program, [place.notes, said], { ...model.env, ...env });
  const { stdout } = await place.run(program, [place.notes, "Where is it?"], { ...model.env, ...env });
  expect(stdout).toMatch(/"path":"sessions\/[0-9a-f-]{36}\.jsonl"/u);
  expect(stdout).toContain(said);
  expect(stdout).toContain("the teapot guards it");
});

test("its session gives items back as they were, takes the last away, and forgets them all", async () => {
  const place = createPlace({});
  const key = "agent:main:main";
  const folder = path.join(place.folder, "items");
  const { FileSession } = (await import(pathToFileURL(path.join(examplesFolder, "openai-agents-session.ts")).href)) as {
    FileSession: { open(sessions: object, key: string, folder: string): Promise<ItemStore> };
  };
  const reopen = async (): Promise<[Awaited<ReturnType<typeof openSessions>>, ItemStore]> => {
    const sessions = await openSessions({ stateDir: path.join(place.folder, "state"), agentId: "main" });
    onTestFinished(() => sessions.close());
    return [sessions, await FileSession.open(sessions, key, folder)];
  };
  const items = given.items;
  const [sessions, store] = await reopen();
  await store.addItems(items.slice(0, 2));
  await store.addItems(items.slice(2));
  await sessions.close();

  const [again, opened] = await reopen();
  expect(await opened.getItems()).toEqual(items);
  expect(await opened.getItems(2)).toEqual(items.slice(3));
  expect(await opened.getItems(0)).toEqual([]);
  expect(await opened.popItem()).toEqual(items[4]);
  await again.close();

  const [last, cleared] = await reopen();
  expect(await cleared.getItems()).toEqual(items.slice(0, 4));
  const transcript = await last.open(key);
  // The transcript keeps what was said, and only that.
  expect(transcript.recorded.map(({ role, text }) => [role, text])).toEqual(given.recorded);
  await cleared.clearSession();
  expect([await cleared.getItems(), await cleared.popItem()]).toEqual([[], undefined]);
  expect(await cleared.getSessionId()).toBe(key);
  expect(readdirSync(folder)).toEqual([]);
  await cleared.addItems(items.slice(0, 1));
  await last.close();
  const [end, fresh] = await reopen();
  expect(await fresh.getItems()).toEqual(items.slice(0, 1));
  expect((await end.open(key)).id).not.toBe(transcript.id);
});
