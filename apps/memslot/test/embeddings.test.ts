import { readdir } from "node:fs/promises";
import { type EmbeddingApi, startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { describe, expect, onTestFinished, test } from "vitest";
import { createSandbox, type Sandbox } from "./run-memslot.ts";

const secret = "sk-of-the-tests-4711";

async function startApi(options: Parameters<typeof startEmbeddingApi>[0] = {}): Promise<EmbeddingApi> {
  const api = await startEmbeddingApi({ dimensions: 32, ...options });
  onTestFinished(() => api.close());
  return api;
}

/** A sandbox with three notes whose configuration names a provider at this server. */
async function sandboxAt(
  api: EmbeddingApi,
  memorySearch: Record<string, unknown> = {},
): Promise<Sandbox & { memslot: (...args: string[]) => ReturnType<Sandbox["run"]> }> {
  const sandbox = await createSandbox();
  const config = await sandbox.writeConfig(
    JSON.stringify({
      agents: { defaults: { memorySearch: { provider: "openai", model: "model-a", ...memorySearch } } },
      models: { providers: { openai: { baseUrl: `${api.url}/v1`, apiKey: secret } } },
    }),
  );
  await sandbox.write("MEMORY.md", "# Memory\n\n- Anna likes espresso.\n");
  await sandbox.write("memory/2026-03-05.md", "# 2026-03-05\n\n- The server moved to Porto.\n");
  await sandbox.write("memory/2026-03-06.md", "# 2026-03-06\n\n- The kitten slept all day.\n");
  const memslot = (...args: string[]): ReturnType<Sandbox["run"]> => sandbox.runHere([...args, "--config", config]);
  return { ...sandbox, memslot };
}

/** Everything below the state folder, without what SQLite keeps beside an open database. */
async function stateOf({ stateDir }: Sandbox): Promise<string[]> {
  const files = await readdir(stateDir, { recursive: true }).catch(() => []);
  return files.filter((file) => !/-(?:wal|shm)$/u.test(file)).toSorted();
}

describe("memslot memory index --estimate", () => {
  test("counts texts, tokens and requests, sends nothing and leaves no file behind", async () => {
    const api = await startApi();
    const sandbox = await sandboxAt(api);
    const first = await sandbox.memslot("memory", "index", "--estimate");
    expect({ exitCode: first.exitCode, stderr: first.stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(first.stdout).toMatch(/^3 files \(3 to index\) · 3 chunks\nProvider: openai model-a\n/u);
    expect(first.stdout).toContain("0 texts embedded already, 3 texts to send");
    expect(first.stdout).toMatch(/About \d+ tokens in 1 request\nPrice: not known/u);
    expect(api.log).toEqual([]);
    expect((await stateOf(sandbox)).filter((file) => file.endsWith(".sqlite"))).toEqual([]);

    await sandbox.memslot("memory", "index");
    await sandbox.write("memory/2026-03-07.md", "# 2026-03-07\n\n- A new note.\n");
    const before = await stateOf(sandbox);
    api.reset();
    const { stdout } = await sandbox.memslot("memory", "index", "--estimate", "--json");
    expect(JSON.parse(stdout)).toMatchObject([
      { agentId: "main", files: 4, changedFiles: 1, chunks: 4, cachedTexts: 3, pendingTexts: 1, provider: "openai" },
    ]);
    expect(api.log).toEqual([]);
    expect(await stateOf(sandbox)).toEqual(before);
  });

  test("prints the price where it is known, and its date and source", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "word ".repeat(4000));
    const env = { OPENAI_API_KEY: secret };
    const { stdout } = await sandbox.runHere(["memory", "index", "--estimate"], { env });
    expect(stdout).toContain("Provider: openai text-embedding-3-small");
    expect(stdout).toMatch(/Price: .* USD.*0\.02 USD per million tokens on 20\d\d-\d\d-\d\d, https:/u);
  });

  test("without a provider says that nothing would be sent and why", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
    const { stdout, exitCode } = await sandbox.runHere(["memory", "index", "--estimate"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/Nothing would be sent: no embedding provider is set up/u);
  });

  test("--json without --estimate is refused", async () => {
    const sandbox = await createSandbox();
    const { exitCode, stdout } = await sandbox.runHere(["memory", "index", "--json"]);
    expect({ exitCode, stdout }).toMatchObject({ exitCode: 2, stdout: expect.stringContaining("--estimate") });
  });
});

describe("memslot memory usage", () => {
  test("shows requests and tokens as the server counted them, by day and reason", async () => {
    const api = await startApi();
    const sandbox = await sandboxAt(api);
    expect((await sandbox.memslot("memory", "usage")).stdout).toMatch(/^No embedding request was made/u);
    await sandbox.memslot("memory", "index");
    await sandbox.memslot("memory", "search", "where is the server");
    const { stdout } = await sandbox.memslot("memory", "usage", "--json");
    const entries = JSON.parse(stdout) as { reason: string; requests: number; tokens: number; day: string }[];
    expect(entries.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(api.stats().tokens);
    expect(entries.map(({ reason }) => reason).toSorted()).toEqual(["cli", "search"]);
    const human = await sandbox.memslot("memory", "usage", "--days", "1");
    expect(human.stdout).toMatch(
      /^Day +Agent +Reason +Provider +Requests +Tokens\n20\d\d-\d\d-\d\d +main +cli +openai model-a/u,
    );
    expect(human.stdout).toMatch(/\nTotal +\d+ +\d+\n$/u);
  });
});

describe("memslot memory status", () => {
  test("--deep makes one request and shows host, model, dimensions, source of the key and latency, never the key", async () => {
    const api = await startApi({ apiKey: secret });
    const sandbox = await sandboxAt(api);
    await sandbox.memslot("memory", "index");
    api.reset();
    const { stdout } = await sandbox.memslot("memory", "status", "--deep");
    expect(api.log).toHaveLength(1);
    expect(stdout).toMatch(/^Provider: +openai$/mu);
    expect(stdout).toMatch(/^Model: +model-a$/mu);
    expect(stdout).toContain(`${new URL(api.url).host} (key from models.providers.openai.apiKey)`);
    expect(stdout).toMatch(/^Embeddings: +ready \(\d+ ms, 32 numbers\)$/mu);
    expect(stdout).toMatch(/^Vector dims: +32$/mu);
    expect(stdout).not.toContain(secret);
  });

  test("says of `auto` why each provider was passed over", async () => {
    const sandbox = await createSandbox();
    const { stdout } = await sandbox.runHere(["memory", "status"]);
    expect(stdout).toMatch(/^Passed over: +local: .*; openai: no OpenAI key.*; gemini: no Gemini key/mu);
  });

  test("shows an open circuit with the time of its next probe", async () => {
    const api = await startApi({ apiKey: "another" });
    const sandbox = await sandboxAt(api);
    const index = await sandbox.memslot("memory", "index");
    expect(index.exitCode).toBe(1);
    expect(index.stderr).toMatch(/3 chunks still without a vector: .*401/u);
    expect(index.stderr).toContain("see to that, then run memslot memory index again");
    const { stdout } = await sandbox.memslot("memory", "status");
    expect(stdout).toMatch(/^Circuit: +open \(auth\), next try 20\d\d-\d\d-\d\d \d\d:\d\d: .*401/mu);
    expect(stdout).not.toContain(secret);
  });
});

describe("memslot doctor", () => {
  test("passes with a provider that answers, and names it", async () => {
    const api = await startApi();
    const { exitCode, stdout } = await (await sandboxAt(api)).memslot("doctor");
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^ok +provider +openai model-a, at 127\.0\.0\.1:\d+ \(key from .*\), \d+ ms$/mu);
    expect(stdout).toMatch(/^ok +search .*hybrid/mu);
  });

  test.each([
    ["a wrong key", { status: 401, body: { error: { message: "no such key" } } }, /Correct the key/u],
    ["an empty account", { status: 429, body: { error: { code: "insufficient_quota", message: "" } } }, /Add credit/u],
    ["an unknown model", { status: 404, body: { error: { message: "no such model" } } }, /baseUrl|model/u],
    ["a page of a proxy", { behaviour: "html" as const }, /key and address|Start the server/u],
  ])("explains %s with what to do", async (_name, fault, remedy) => {
    const api = await startApi();
    api.fail({ times: 1000, ...fault });
    const { exitCode, stdout } = await (await sandboxAt(api)).memslot("doctor");
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^fail +provider +openai does not work: /mu);
    expect(stdout.split("\n").filter((line) => /^ +→ /u.test(line) && remedy.test(line))).toHaveLength(1);
    expect(stdout).toMatch(/^ok +search .*keyword|^warn +search/mu);
  });

  test("explains a server that is not there", async () => {
    const api = await startApi();
    const sandbox = await sandboxAt(api);
    await api.close();
    const { exitCode, stdout } = await sandbox.memslot("doctor");
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/→ Start the server/u);
  });
});

describe("bad input", () => {
  test.each([
    ["an unknown provider", { provider: "openia" }, 1, /openia.*Did you mean "openai"\?.*"gemini".*"local"/su],
    ["an unknown fallback", { fallback: "gemeni" }, 1, /fallback is "gemeni".*Did you mean "gemini"\?/su],
    ["an address without scheme", { remote: { baseUrl: "127.0.0.1:8080/v1" } }, 1, /remote\.baseUrl .*http/su],
  ])("%s is an error that says what is known", async (_name, memorySearch, code, words) => {
    const sandbox = await sandboxAt(await startApi(), memorySearch);
    const { exitCode, stderr } = await sandbox.memslot("memory", "index");
    expect({ exitCode, stderr }).toMatchObject({ exitCode: code, stderr: expect.stringMatching(words) });
  });

  test.each([
    ["a key with a line break", { remote: { apiKey: "sk-two\nlines" } }, /remote\.apiKey.*white space/su],
    ["a key in quotes", { remote: { apiKey: '"sk-quoted"' } }, /remote\.apiKey.*quotes/su],
  ])("%s leaves words searchable and is named without the key", async (_name, memorySearch, words) => {
    const sandbox = await sandboxAt(await startApi(), memorySearch);
    const { exitCode, stdout, stderr } = await sandbox.memslot("memory", "search", "espresso");
    expect(exitCode).toBe(0);
    expect(stdout).toContain("Anna likes espresso");
    expect(stderr).toMatch(words);
    expect(stderr).not.toMatch(/sk-two|sk-quoted/u);
  });

  test("a base URL that misses /v1 is explained", async () => {
    const api = await startApi();
    const sandbox = await sandboxAt(api, { remote: { baseUrl: api.url, apiKey: secret } });
    const { stderr } = await sandbox.memslot("memory", "index");
    expect(stderr).toMatch(/\/v1/u);
    expect(stderr).toContain(`${api.url}/v1`);
  });
});
