import { type RerankApi, startRerankApi } from "@memslot/fakes/rerank-api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Sandbox, createSandbox } from "./run-memslot.ts";

let api: RerankApi;
beforeAll(async () => {
  api = await startRerankApi({ apiKey: "sk-right" });
});
afterAll(() => api.close());

async function sandboxWith(rerank: Record<string, unknown>): Promise<{ sandbox: Sandbox; config: string }> {
  const sandbox = await createSandbox();
  // To the index a rare word is worth more than two that stand everywhere.
  await sandbox.write("MEMORY.md", "Zebra, zebra.\n");
  await sandbox.write("memory/b.md", "A lantern hangs at the gate.\n");
  for (let index = 0; index < 9; index++)
    await sandbox.write(`memory/c${index}.md`, index % 2 === 0 ? "The lantern is lit.\n" : "The gate is shut.\n");
  const chosen = { provider: "rerank-http", baseUrl: `${api.url}/v1`, model: "m", timeoutMs: 10_000, ...rerank };
  const agents = { defaults: { memorySearch: { provider: "none", query: { rerank: chosen } } } };
  return { sandbox, config: await sandbox.writeConfig(JSON.stringify({ agents })) };
}

const query = "zebra lantern gate";

describe("with a reranker", () => {
  test("status, doctor and --explain tell of it, and of its key nothing but where it is from", async () => {
    const { sandbox, config } = await sandboxWith({ apiKey: "sk-right" });
    const host = new URL(api.url).host.replaceAll(".", String.raw`\.`);
    const explained = await sandbox.runHere(["memory", "search", query, "--explain", "--config", config]);
    expect(explained.stdout).toMatch(/^Reranker: +rerank-http m, 11 candidates, \d+\.\d ms$/mu);
    expect(explained.stdout).toMatch(/^ {2}1\. \(was 2\.\) +memory\/b\.md:1 {2}score 0\.\d{3}, reranked 0\.667$/mu);
    expect(explained.stdout.indexOf("memory/b.md")).toBeLessThan(explained.stdout.indexOf("MEMORY.md"));
    const json = await sandbox.runHere(["memory", "search", query, "--json", "--config", config]);
    const answer = JSON.parse(json.stdout) as { results: { path: string }[] };
    expect(answer.results.slice(0, 2)).toMatchObject([{ path: "memory/b.md" }, { path: "MEMORY.md" }]);
    expect(answer).toMatchObject({
      state: "ok",
      rerank: { state: "done", id: "rerank-http", model: "m", candidates: 11 },
    });
    const status = await sandbox.runHere(["memory", "status", "--config", config]);
    const line = String.raw`rerank-http m at ${host} \(key from query\.rerank\.apiKey\)`;
    expect(status.stdout).toMatch(new RegExp(`^Reranker: +${line}$`, "mu"));
    const doctor = await sandbox.runHere(["doctor", "--config", config]);
    expect(doctor.stdout).toMatch(new RegExp(`^ok +reranker +${line}$`, "mu"));
    const plugins = await sandbox.runHere(["plugins", "list", "--config", config]);
    expect(plugins.stdout).toMatch(/rerank-http.*in use/u);
    const printed = await sandbox.runHere(["config", "--config", config]);
    for (const { stdout, stderr } of [explained, json, status, doctor, plugins, printed])
      expect(stdout + stderr).not.toContain("sk-right");
  });

  test("one that refuses is told, and the answer is given all the same", async () => {
    const { sandbox, config } = await sandboxWith({ apiKey: "sk-wrong" });
    const { exitCode, stdout, stderr } = await sandbox.runHere([
      "memory",
      "search",
      query,
      "--explain",
      "--config",
      config,
    ]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("memory/b.md");
    expect(stdout).toMatch(/^Reranker: +rerank-http m, failed: results are in the order of the index: .* 401/mu);
    expect(stderr).toMatch(/degraded, .*answered 401/u);
    expect(stdout + stderr).not.toContain("sk-wrong");
  });

  test("one that cannot be opened fails the doctor, with what to do", async () => {
    const { sandbox, config } = await sandboxWith({ baseUrl: "https://api.cohere.com/v2" });
    const doctor = await sandbox.runHere(["doctor", "--config", config]);
    expect(doctor.exitCode).toBe(1);
    expect(doctor.stdout).toMatch(
      /^fail +reranker +rerank-http does not work: .*no key for Cohere: set COHERE_API_KEY/mu,
    );
    const status = await sandbox.runHere(["memory", "status", "--config", config]);
    expect(status.stdout).toMatch(/^Reranker: +none \(requested: rerank-http\): .*no key for Cohere/mu);
  });

  test("the plugin cannot fill the memory slot, and the command says how it is chosen", async () => {
    const { sandbox, config } = await sandboxWith({});
    const used = await sandbox.runHere(["plugins", "use", "rerank-http", "--config", config]);
    expect(used.exitCode).toBe(1);
    expect(used.stderr).toContain(
      'it is chosen with agents.defaults.memorySearch.query.rerank.provider: "rerank-http"',
    );
    const info = await sandbox.runHere(["plugins", "info", "rerank-http", "--config", config]);
    expect(info.stdout).toMatch(/^rerank-http \S+, a rerank plugin$/mu);
  });
});

test("without one there is no line of it", async () => {
  const sandbox = await createSandbox();
  await sandbox.write("MEMORY.md", "The lantern.\n");
  for (const command of [["memory", "status"], ["doctor"], ["memory", "search", "lantern", "--explain"]]) {
    const { stdout } = await sandbox.runHere(command);
    expect(stdout).not.toMatch(/reranker/iu);
  }
});
