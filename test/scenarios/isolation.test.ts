import { symlinkSync } from "node:fs";
import path from "node:path";
import { openSessions, type Session } from "@memslot/agent-kit";
import { afterwards, tempFolder, writeFiles } from "@memslot/test-tools/files";
import { deterministicEmbeddings } from "@memslot/testkit";
import { createMemoryPool, createMemoryTools, type Memory, openMemory, parseConfig } from "memslot";
import { describe, expect, test } from "vitest";
import { ask, type House, useHouse } from "../support/temp-workspace.ts";
import { sessionsFolder } from "../support/generated-notes.ts";
import data from "../data/scenarios.json" with { type: "json" };

const groupOf = (agent: string): string => `agent:${agent}:telegram:group:42`;
const text = "The password of the safe is";

interface Household extends House {
  /** A file of the workspace of an agent. */
  in(agentId: string, name?: string): string;
  openAs(agentId: string, store?: string): Promise<Memory>;
}

/** Two agents with the same sentences in their notes, each with a word of its own, and a folder that both read. */
function useHousehold(): Household {
  const house = useHouse({ "shared/house.md": `${text} CANARYshared.\n` });
  for (const agent of ["anna", "bruno"]) {
    house.write({
      [`${agent}/MEMORY.md`]: `${text} CANARY${agent}.\n`,
      [`${agent}/memory/2026-03-05.md`]: `${text} CANARY${agent} of the day.\n`,
    });
    const say = (content: string): string =>
      `${JSON.stringify({ type: "message", message: { role: "user", content } })}\n`;
    writeFiles(sessionsFolder(house, agent), {
      "private.jsonl": say(`${text} CANARY${agent}talk.`),
      "group.jsonl": say(`${text} CANARY${agent}group.`),
      "sessions.json": { [`agent:${agent}:main`]: { sessionId: "private" }, [groupOf(agent)]: { sessionId: "group" } },
    });
  }
  const inWorkspace = (agentId: string, name = "."): string => house.at(path.join(agentId, name));
  return {
    ...house,
    in: inWorkspace,
    async openAs(agentId, store) {
      // Two agents with one file are refused as soon as one configuration names both.
      const agents = store === undefined ? ["anna", "bruno"] : [agentId];
      const memory = await house.open({
        settings: { agents: { list: agents.map((id) => ({ id, workspace: inWorkspace(id) })) } },
        memorySearch: {
          sources: ["memory", "sessions"],
          extraPaths: [house.at("shared")],
          ...(store !== undefined && { store: { path: store } }),
        },
        agentId,
        embeddings: deterministicEmbeddings({ dimensions: 32 }),
      });
      await memory.sync({ reason: "cli" });
      return memory;
    },
  };
}

/** The canaries that a search gives, each once. */
async function canaries(memory: Memory, sessionKey?: string, sources?: string[]): Promise<string[]> {
  const { results } = await ask(memory, `${text} CANARY`, {
    maxResults: 50,
    maxTokens: 4000,
    ...(sessionKey !== undefined && { sessionKey }),
    ...(sources && { sources }),
  });
  const words = results.flatMap(({ snippet }) => snippet.match(/CANARY\w+/gu) ?? []);
  return [...new Set(words)].toSorted();
}

describe("an agent", () => {
  test("sees its own notes and talks and what is shared, and nothing of another, with the same texts in both", async () => {
    const house = useHousehold();
    const [anna, bruno] = [await house.openAs("anna"), await house.openAs("bruno")];
    expect(await canaries(anna)).toEqual(["CANARYanna", "CANARYannagroup", "CANARYannatalk", "CANARYshared"]);
    expect(await canaries(bruno)).toEqual(["CANARYbruno", "CANARYbrunogroup", "CANARYbrunotalk", "CANARYshared"]);
    expect(await canaries(anna, undefined, ["memory"])).toEqual(["CANARYanna", "CANARYshared"]);
    expect(await canaries(anna, undefined, ["sessions"])).toEqual(["CANARYannagroup", "CANARYannatalk"]);
  });

  test("has to be named", async () => {
    for (const agentId of ["", " ", undefined]) {
      const opening = openMemory({ config: {}, agentId: agentId as string });
      await expect(opening).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    }
  });

  test("is not let into the index of another that its settings lead it to, and says so", async () => {
    const house = useHousehold();
    const store = path.join(house.indexFolder, "one-for-all.sqlite");
    const anna = await house.openAs("anna", store);
    expect(await canaries(anna)).toContain("CANARYanna");
    const bruno = await house.openAs("bruno", store);
    expect(await canaries(bruno)).toEqual(["CANARYbruno", "CANARYbrunogroup", "CANARYbrunotalk", "CANARYshared"]);
    expect(house.notices).toEqual([expect.stringMatching(/agent "anna", not of "bruno"/u)]);
    expect(await canaries(anna)).toEqual(["CANARYanna", "CANARYannagroup", "CANARYannatalk", "CANARYshared"]);
  });

  test("reads no file of another, however its path is written, nor through a link", async () => {
    const house = useHousehold();
    const other = house.in("bruno", "MEMORY.md");
    symlinkSync(other, house.in("anna", "memory/link.md"));
    symlinkSync(house.in("bruno"), house.in("anna", "memory/folder"));
    const anna = await house.openAs("anna");
    expect(await canaries(anna, undefined, ["memory"])).toEqual(["CANARYanna", "CANARYshared"]);
    for (const relPath of [other, ...data.pathsOfOther]) {
      const reading = anna.readFile({ relPath });
      await expect(reading, relPath).rejects.toMatchObject({ code: "PATH_NOT_ALLOWED" });
    }
  });
});

describe("a group", () => {
  test("finds and reads what is shared and its own talk, and nothing private", async () => {
    const house = useHousehold();
    const anna = await house.openAs("anna");
    expect(await canaries(anna, groupOf("anna"))).toEqual(["CANARYannagroup", "CANARYshared"]);
    // A group that is not listed has no talk of its own.
    expect(await canaries(anna, "agent:anna:discord:channel:7")).toEqual(["CANARYshared"]);
    // An unknown key may be a group.
    expect(await canaries(anna, "something else")).toEqual(["CANARYshared"]);
    for (const relPath of ["MEMORY.md", "memory/2026-03-05.md", "./MEMORY.md", "memory/../MEMORY.md"]) {
      const reading = anna.readFile({ relPath, sessionKey: groupOf("anna") });
      await expect(reading, relPath).rejects.toMatchObject({ code: "PATH_NOT_ALLOWED" });
    }
  });

  test("learns nothing more by arguments that a model makes up", async () => {
    const house = useHousehold();
    const memory = await house.openAs("anna");
    const [search, get] = createMemoryTools({ memory, citations: "on", sessionKey: groupOf("anna") });
    for (const forged of data.forged) {
      const answer = JSON.stringify(await search?.execute({ query: `${text} CANARY`, maxResults: 50, ...forged }));
      const words = new Set(answer.match(/CANARY[a-z]+/gu));
      for (const word of words) expect(["CANARYshared", "CANARYannagroup"]).toContain(word);
    }
    for (const forged of [{}, { sessionKey: "agent:anna:main" }, { agentId: "anna" }]) {
      const answer = JSON.stringify(await get?.execute({ path: "MEMORY.md", ...forged }));
      expect(answer).not.toContain("CANARY");
    }
  });
});

test("messages of a session are found, also before a compaction and after a broken line", async () => {
  const house = useHouse({ "MEMORY.md": "Nothing of note.\n" });
  const sessions = await openSessions({ stateDir: house.stateDir, agentId: "main" });
  afterwards(() => sessions.close());
  const session: Session = await sessions.open("agent:main:main");
  await session.append(
    { role: "user", id: "1", text: "The spare key hangs behind the blue teapot." },
    { role: "assistant", text: "", toolCalls: [{ id: "c", name: "memory_append", arguments: '{"text": "quokka"' }] },
    { role: "tool", toolCallId: "c", toolName: "memory_append", text: "wombat" },
    { role: "assistant", text: "Noted: the teapot guards it." },
    { role: "user", id: "2", text: "Something else now." },
  );
  await session.compact({ summary: "armadillo", firstKeptId: "2", tokensBefore: 50 });
  await session.append({ role: "assistant", text: "The lighthouse opens at nine on Sundays." });
  const group = await sessions.open("agent:main:telegram:group:7");
  await group.append({ role: "user", text: "The lighthouse is closed in winter." });

  const memory = await house.open({ memorySearch: { sources: ["memory", "sessions"] } });
  expect(await memory.sync({ reason: "cli" })).toMatchObject({ added: 3, failed: [] });
  const pathOf = (of: Session): string => `sessions/${of.id}.jsonl`;
  const found = async (query: string, sessionKey?: string): Promise<string[]> =>
    (await ask(memory, query, { maxResults: 10, sessionKey })).paths;
  expect(await found("spare key blue teapot")).toContain(pathOf(session));
  expect((await found("lighthouse")).toSorted()).toEqual([pathOf(session), pathOf(group)].toSorted());
  // The list of keys is how memory knows which transcript others may see.
  expect(await found("lighthouse", group.key)).toEqual([pathOf(group)]);
  for (const unsaid of ["quokka", "wombat", "armadillo"]) expect(await found(unsaid)).toEqual([]);

  await session.append({ role: "user", text: "The marmot whistles before rain." });
  expect(await memory.sync({ reason: "cli", force: true })).toMatchObject({ failed: [] });
  expect(await found("marmot whistles")).toContain(pathOf(session));
});

test("ten users find their own notes alone, through a pool of three memories with one state folder", async () => {
  const home = tempFolder();
  const users = Array.from({ length: 10 }, (_, index) => `user-${index}`);
  for (const user of users)
    writeFiles(path.join(home, user), { "memory/a.md": `The dentist of ${user} is in Canal Street.\n` });
  const config = parseConfig(
    { agents: { defaults: { memorySearch: { provider: "none", sync: { watch: false } } } } },
    { stateDir: path.join(home, "state"), env: {} },
  );
  const pool = createMemoryPool({
    max: 3,
    open: (user, { signal }) =>
      openMemory({ config, agentId: "main", workspaceDir: path.join(home, user), notify: () => {}, signal }),
  });
  afterwards(() => pool.close());
  const asked = [...users, ...users.toReversed()];
  const answers = asked.map((user) => pool.use(user, (memory) => memory.search("dentist in Canal Street")));
  const texts = (await Promise.all(answers)).map((results) => results.map(({ snippet }) => snippet.trim()));
  expect(texts).toEqual(asked.map((user) => [`The dentist of ${user} is in Canal Street.`]));
  expect(pool.size).toBeLessThanOrEqual(3);
});
