import { existsSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { startRerankApi } from "@memslot/fakes/rerank-api";
import { afterAll, beforeAll } from "vitest";
import type { Finished, Sandbox } from "./run-memslot.ts";
import { transcript } from "./transcript.ts";

const key = "SECRETkeyOfTheTests";
let embedding: Awaited<ReturnType<typeof startEmbeddingApi>>;
let rerank: Awaited<ReturnType<typeof startRerankApi>>;
beforeAll(async () => {
  embedding = await startEmbeddingApi({ dimensions: 32, apiKey: key });
  rerank = await startRerankApi({ apiKey: key });
});
afterAll(async () => {
  await embedding.close();
  await rerank.close();
});

const print = (stdout: string): Finished => ({ exitCode: 0, stdout, stderr: "" });

function writeConfigs({ folder }: Sandbox, searches: Record<string, object>): void {
  for (const [name, memorySearch] of Object.entries(searches)) {
    const models = { providers: { openai: { baseUrl: `${embedding.url}/v1`, apiKey: key } } };
    const config = { agents: { defaults: { memorySearch } }, models };
    writeFileSync(path.join(folder, `${name}.json5`), JSON.stringify(config));
  }
}

transcript("providers/embeddings", {
  prepare(sandbox) {
    const remotes: Record<string, object> = {
      good: {},
      refused: { model: "model-b", remote: { apiKey: "SECRETwrong" } },
      unknown: { provider: "openia" },
      fallback: { fallback: "gemeni" },
      address: { remote: { baseUrl: "127.0.0.1:8080/v1" } },
      lines: { model: "model-c", remote: { apiKey: "SECRETtwo\nlines" } },
      quotes: { model: "model-c", remote: { apiKey: '"SECRETquoted"' } },
      base: { model: "model-d", remote: { baseUrl: embedding.url, apiKey: key } },
    };
    const searches = Object.entries(remotes).map(([name, more]) => [
      name,
      { provider: "openai", model: "model-a", ...more },
    ]);
    writeConfigs(sandbox, Object.fromEntries(searches));
  },
  steps: {
    requests() {
      const count = embedding.log.length;
      embedding.reset();
      return print(String(count));
    },
    /** Names of the indexes in the state folder. */
    indexes: ({ stateDir }) => {
      const files = existsSync(stateDir) ? readdirSync(stateDir, { recursive: true }).map(String) : [];
      return print(files.filter((file) => file.endsWith(".sqlite")).join("\n"));
    },
    fail(_, how = "") {
      embedding.reset();
      if (how !== "{}") embedding.fail({ times: 1000, ...(JSON.parse(how) as object) });
    },
    /** What the doctor says of a provider with a name of its own, so that no circuit is open. */
    async provider(sandbox, model = "") {
      writeConfigs(sandbox, { [model]: { provider: "openai", model } });
      const config = path.join(sandbox.folder, `${model}.json5`);
      const { exitCode, stdout, stderr } = await sandbox.runHere(["doctor", "--config", config]);
      const lines = stdout.split("\n");
      const first = lines.findIndex((line) => /^\w+ +provider/u.test(line));
      return { exitCode, stdout: lines.slice(first).join("\n"), stderr };
    },
  },
});

transcript("providers/rerank", {
  prepare(sandbox) {
    const chosen = { provider: "rerank-http", baseUrl: `${rerank.url}/v1`, model: "m", timeoutMs: 10_000 };
    const kinds = {
      good: { apiKey: key },
      refused: { apiKey: "SECRETwrong" },
      keyless: { baseUrl: "https://api.cohere.com/v2" },
    };
    const searches = Object.entries(kinds).map(([name, more]) => [
      name,
      { provider: "none", query: { rerank: { ...chosen, ...more } } },
    ]);
    writeConfigs(sandbox, Object.fromEntries(searches));
  },
  steps: {
    async crowd({ write }) {
      for (let index = 0; index < 9; index++)
        await write(`memory/c${index}.md`, index % 2 === 0 ? "The lantern is lit.\n" : "The gate is shut.\n");
    },
  },
});

transcript("providers/embeddings-on");
