import { openSessions, type Session } from "@memslot/agent-kit";
import { expect, test } from "vitest";
import { useHouse } from "./support/house.ts";

test("what is said in a session is found by memory, also behind a compaction and after a broken line", async () => {
  const house = useHouse();
  house.write({ "MEMORY.md": "Nothing of note.\n" });
  const sessions = await openSessions({ stateDir: house.stateDir, agentId: "main" });
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
  const found = async (query: string, sessionKey?: string): Promise<string[]> => {
    const results = await memory.search(query, { maxResults: 10, ...(sessionKey !== undefined && { sessionKey }) });
    return results.map((result) => result.path);
  };
  expect(await found("spare key blue teapot")).toContain(pathOf(session));
  expect((await found("lighthouse")).toSorted()).toEqual([pathOf(session), pathOf(group)].toSorted());
  // The list of keys is how memory knows which transcript others may see.
  expect(await found("lighthouse", group.key)).toEqual([pathOf(group)]);
  for (const unsaid of ["quokka", "wombat", "armadillo"]) expect(await found(unsaid)).toEqual([]);

  await session.append({ role: "user", text: "The marmot whistles before rain." });
  expect(await memory.sync({ reason: "cli", force: true })).toMatchObject({ failed: [] });
  expect(await found("marmot whistles")).toContain(pathOf(session));
  await sessions.close();
});
