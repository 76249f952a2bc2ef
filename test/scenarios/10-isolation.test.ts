import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createMemoryTools, type Memory, openMemory, parseConfig } from "memslot";
import { describe, expect, onTestFinished, test } from "vitest";
import { type House, useHouse } from "../support/house.ts";
import { sessionsFolder } from "../support/random-notes.ts";
import { deterministicEmbeddings } from "@memslot/testkit";

const groupOf = (agent: string): string => `agent:${agent}:telegram:group:42`;
const text = "The password of the safe is";

interface Household extends House {
  /** The workspace of an agent. */
  workspace(agentId: string): string;
  openAs(agentId: string, store?: string): Promise<Memory>;
}

/** Two agents with the same sentences in their notes, each with a word of its own, and a folder that both read. */
function useHousehold(): Household {
  const house = useHouse();
  const shared = path.join(house.folder, "shared");
  const workspace = (agentId: string): string => path.join(house.folder, "workspaces", agentId);
  mkdirSync(shared);
  writeFileSync(path.join(shared, "house.md"), `${text} CANARYshared.\n`);
  for (const agent of ["anna", "bruno"]) {
    mkdirSync(path.join(workspace(agent), "memory"), { recursive: true });
    writeFileSync(path.join(workspace(agent), "MEMORY.md"), `${text} CANARY${agent}.\n`);
    writeFileSync(path.join(workspace(agent), "memory/2026-03-05.md"), `${text} CANARY${agent} of the day.\n`);
    const sessions = sessionsFolder(house, agent);
    const say = (content: string): string =>
      `${JSON.stringify({ type: "message", message: { role: "user", content } })}\n`;
    writeFileSync(path.join(sessions, "private.jsonl"), say(`${text} CANARY${agent}talk.`));
    writeFileSync(path.join(sessions, "group.jsonl"), say(`${text} CANARY${agent}group.`));
    const keys = { [`agent:${agent}:main`]: { sessionId: "private" }, [groupOf(agent)]: { sessionId: "group" } };
    writeFileSync(path.join(sessions, "sessions.json"), JSON.stringify(keys));
  }
  return {
    ...house,
    workspace,
    async openAs(agentId, store) {
      const memorySearch = {
        sources: ["memory", "sessions"],
        extraPaths: [shared],
        ...(store !== undefined && { store: { path: store } }),
      };
      // Two agents with one file are refused as soon as one configuration names both.
      const agents = store === undefined ? ["anna", "bruno"] : [agentId];
      const list = agents.map((id) => ({ id, workspace: workspace(id) }));
      const config = parseConfig(
        { agents: { defaults: { memorySearch }, list } },
        { stateDir: house.stateDir, env: {} },
      );
      const embeddings = deterministicEmbeddings({ dimensions: 32 });
      const memory = await openMemory({
        config,
        agentId,
        embeddings,
        notify: (line) => void house.notices.push(line),
      });
      onTestFinished(() => memory.close());
      await memory.sync({ reason: "cli" });
      return memory;
    },
  };
}

/** The canaries that a search gives, each once. */
async function canaries(memory: Memory, sessionKey?: string, sources?: string[]): Promise<string[]> {
  const results = await memory.search(`${text} CANARY`, {
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
    const other = path.join(house.workspace("bruno"), "MEMORY.md");
    const memoryFolder = path.join(house.workspace("anna"), "memory");
    symlinkSync(other, path.join(memoryFolder, "link.md"));
    symlinkSync(house.workspace("bruno"), path.join(memoryFolder, "folder"));
    const anna = await house.openAs("anna");
    expect(await canaries(anna, undefined, ["memory"])).toEqual(["CANARYanna", "CANARYshared"]);
    for (const relPath of [
      other,
      "../bruno/MEMORY.md",
      "memory/../../bruno/MEMORY.md",
      "memory/link.md",
      "memory/folder/MEMORY.md",
      "memory/folder/memory/2026-03-05.md",
      "../../state/agents/bruno/sessions/private.jsonl",
      "sessions/private.jsonl",
    ]) {
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
    // A group that nobody has listed has no talk of its own.
    expect(await canaries(anna, "agent:anna:discord:channel:7")).toEqual(["CANARYshared"]);
    // A key that nobody understands may be a group.
    expect(await canaries(anna, "something else")).toEqual(["CANARYshared"]);
    for (const relPath of ["MEMORY.md", "memory/2026-03-05.md", "./MEMORY.md", "memory/../MEMORY.md"]) {
      const reading = anna.readFile({ relPath, sessionKey: groupOf("anna") });
      await expect(reading, relPath).rejects.toMatchObject({ code: "PATH_NOT_ALLOWED" });
    }
  });

  test("of another agent is refused", async () => {
    const house = useHousehold();
    const anna = await house.openAs("anna");
    await expect(anna.search("safe", { sessionKey: groupOf("bruno") })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    const reading = anna.readFile({ relPath: "MEMORY.md", sessionKey: "agent:bruno:main" });
    await expect(reading).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("learns nothing more by arguments that a model makes up", async () => {
    const house = useHousehold();
    const memory = await house.openAs("anna");
    const [search, get] = createMemoryTools({ memory, citations: "on", sessionKey: groupOf("anna") });
    for (const forged of [
      {},
      { sessionKey: "agent:anna:main" },
      { agentId: "bruno" },
      { audience: "private" },
      { corpus: "all" },
    ]) {
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
