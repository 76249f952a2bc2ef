import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import plugin from "@memslot/embeddings-openai";
import { type Setup, contextOf } from "./support/open.ts";

describe("whether it can be used", () => {
  test.each<[string, Setup, { ok: boolean; reason: string }]>([
    ["the environment has a key", { env: { OPENAI_API_KEY: "sk-1" } }, { ok: true, reason: "OPENAI_API_KEY is set" }],
    ["remote.apiKey", { memorySearch: { remote: { apiKey: "k" } } }, { ok: true, reason: "remote.apiKey is set" }],
    [
      "remote.baseUrl",
      { memorySearch: { remote: { baseUrl: "http://localhost:1/v1" } } },
      { ok: true, reason: "remote.baseUrl is set" },
    ],
    [
      "a header with credentials",
      { memorySearch: { remote: { headers: { authorization: "Bearer k" } } } },
      { ok: true, reason: "remote.headers is set" },
    ],
    [
      "models.providers.openai.apiKey",
      { providers: { openai: { apiKey: "k" } } },
      { ok: true, reason: "models.providers.openai.apiKey is set" },
    ],
    [
      "nothing, or what belongs to others",
      {
        env: { GEMINI_API_KEY: "k", OPENAI_API_KEY: " ", OPENAI_BASE_URL: "http://localhost:1/v1" },
        providers: { gemini: { apiKey: "k" }, openai: { baseUrl: "http://localhost:1/v1" } },
        memorySearch: { remote: { headers: { "x-team": "notes" } } },
      },
      {
        ok: false,
        reason: "no OpenAI key: OPENAI_API_KEY, remote.apiKey and models.providers.openai.apiKey are not set",
      },
    ],
  ])("%s", async (_, setup, answer) => {
    expect(await plugin.available?.(contextOf(setup))).toEqual(answer);
  });
});

test("asking and opening load no SDK and send nothing; the first call loads it", () => {
  // The loader and the sockets of a process of its own show it, so nothing can hide.
  const script = `
    import { registerHooks } from "node:module";
    const seen = [];
    registerHooks({ load(url, context, next) { seen.push(url); return next(url, context); } });
    let sent = 0;
    globalThis.fetch = async () => { sent++; return Response.json({ data: [{ embedding: [1] }] }); };
    const { contextOf } = await import(${JSON.stringify(import.meta.resolve("./support/open.ts"))});
    const { default: plugin } = await import(${JSON.stringify(import.meta.resolve("../src/index.ts"))});
    const context = contextOf({ env: { OPENAI_API_KEY: "sk-1" } });
    const count = () => seen.filter((url) => url.includes("/node_modules/openai/")).length;
    await plugin.available(context);
    const provider = await plugin.open(context);
    const before = { sdk: count(), sent, sockets: process.getActiveResourcesInfo().filter((name) => /TCP/.test(name)) };
    await provider.embedQuery("a question");
    console.log(JSON.stringify({ before, after: { sdk: count(), sent } }));
  `;
  const args = ["--conditions=@memslot/source", "--input-type=module", "--eval", script];
  const output = execFileSync(process.execPath, args, { encoding: "utf8", timeout: 30_000 });
  const { before, after } = JSON.parse(output) as Record<"before" | "after", Record<string, unknown>>;
  expect(before).toEqual({ sdk: 0, sent: 0, sockets: [] });
  expect(after?.["sdk"]).toBeGreaterThan(0);
  expect(after?.["sent"]).toBe(1);
});
