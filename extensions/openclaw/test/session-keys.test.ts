import { afterAll, describe, expect, test } from "vitest";
import { registerInHost } from "./support/fake-host.ts";
import data from "./data/host.json" with { type: "json" };

// The keys as OpenClaw writes them, and who reads what is answered in such a session.
describe("a session with the key", () => {
  const host = registerInHost({ commands: { ownerAllowFrom: [4_917_012_345, "*"] } });
  afterAll(() => host.end());

  test.each(data.ownKeys)("%s is the owner's, and finds private notes", async (sessionKey) => {
    const { results } = await search(sessionKey);
    expect(results?.map(({ path }) => path).toSorted()).toEqual(["MEMORY.md", "handbook/office.md"]);
    expect((await read(sessionKey)).text).toContain("7781");
  });

  test.each([...data.sharedKeys, undefined])(
    "%s is shared, and finds only what extraPaths names",
    async (sessionKey) => {
      const { results } = await search(sessionKey);
      expect(results?.map(({ path }) => path)).toEqual(["handbook/office.md"]);
      expect(await read(sessionKey)).toMatchObject({ text: "", code: "PATH_NOT_ALLOWED" });
    },
  );

  async function search(sessionKey: string | undefined): ReturnType<typeof call> {
    return call("memory_search", sessionKey, { query: "door code" });
  }

  async function read(sessionKey: string | undefined): ReturnType<typeof call> {
    return call("memory_get", sessionKey, { path: "MEMORY.md" });
  }

  async function call(
    name: string,
    sessionKey: string | undefined,
    input: object,
  ): Promise<{ results?: { path: string }[]; text?: string; code?: string }> {
    const tool = host.tool(name, { config: host.config, agentId: "main", sessionKey });
    if (tool === null) throw new Error(`${name} is not offered`);
    return (await tool.execute("1", input)).details;
  }
});

test("a session of another agent gets an error in each answer, and no notes", async () => {
  const host = registerInHost();
  const tool = host.tool("memory_search", { config: host.config, agentId: "main", sessionKey: "agent:other:main" });
  const { details } = (await tool?.execute("1", { query: "door code" })) ?? {};
  expect(details?.results).toEqual([]);
  expect(details?.error).toContain('belongs to agent "other"');
  await host.end();
});
