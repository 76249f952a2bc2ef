import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { chooseModel } from "./choose-model.ts";
import { request, testKey, thrownBy } from "./test/model-lab.ts";

const openAi = { OPENAI_API_KEY: testKey };
const gemini = { GEMINI_API_KEY: testKey };

test("nothing named is no model", () => {
  expect(chooseModel({}, {})).toBeUndefined();
  expect(
    chooseModel({ model: " " }, { OPENAI_API_KEY: " ", GEMINI_API_KEY: "", MEMSLOT_CHAT_MODEL: "" }),
  ).toBeUndefined();
});

test.each<[string | undefined, Record<string, string>, string, number]>([
  [undefined, openAi, "gpt-4o-mini", 128_000],
  [undefined, { OPENAI_BASE_URL: "http://127.0.0.1:1/v1", OPENAI_MODEL: "llama-3" }, "llama-3", 128_000],
  ["gpt-4.1-mini", { ...openAi, OPENAI_MODEL: "other" }, "gpt-4.1-mini", 1_047_576],
  ["gpt-4", openAi, "gpt-4", 8192],
  [undefined, gemini, "gemini-2.5-flash", 1_048_576],
  [undefined, { ...gemini, GEMINI_MODEL: "gemini-3-pro" }, "gemini-3-pro", 1_048_576],
  [undefined, { ...gemini, ...openAi }, "gpt-4o-mini", 128_000],
  ["notes/Tiny.GGUF", { ...gemini, ...openAi }, "Tiny.GGUF", 8192],
  [undefined, { MEMSLOT_CHAT_MODEL: "/models/tiny.gguf" }, "tiny.gguf", 8192],
  [undefined, { MEMSLOT_CHAT_MODEL: "/models/tiny.gguf", ...openAi }, "gpt-4o-mini", 128_000],
  [undefined, { ...openAi, MEMSLOT_CONTEXT_TOKENS: "9000" }, "gpt-4o-mini", 9000],
  [undefined, { ...gemini, MEMSLOT_CONTEXT_TOKENS: "9000" }, "gemini-2.5-flash", 9000],
  ["tiny.gguf", { MEMSLOT_CONTEXT_TOKENS: "2048" }, "tiny.gguf", 2048],
])("--model %s with %j is %s", (model, env, name, contextWindowTokens) => {
  expect(chooseModel({ model }, env)).toMatchObject({ name, contextWindowTokens });
});

test("a Gemini model goes to Gemini where there is a key for it, and to the other endpoint where there is none", async () => {
  // Nobody listens at these: the error names who was asked.
  const urls = { OPENAI_BASE_URL: "http://127.0.0.1:1/v1", GEMINI_BASE_URL: "http://127.0.0.1:2" };
  const both = chooseModel({ model: "models/gemini-2.5-pro" }, { ...urls, ...openAi, ...gemini });
  expect(both?.name).toBe("gemini-2.5-pro");
  expect((await thrownBy(both?.complete(request()) ?? Promise.resolve())).message).toMatch(
    /127\.0\.0\.1:2: check GEMINI_BASE_URL/,
  );
  const one = chooseModel({ model: "gemini-2.5-pro" }, { ...urls, ...openAi });
  expect((await thrownBy(one?.complete(request()) ?? Promise.resolve())).message).toMatch(
    /127\.0\.0\.1:1\/v1: check OPENAI_BASE_URL/,
  );
});

test.each<[string | undefined, Record<string, string>, RegExp]>([
  ["gpt-4o", {}, /^--model needs an endpoint: set OPENAI_API_KEY or OPENAI_BASE_URL, or GEMINI_API_KEY/],
  ["gpt-4o", { MEMSLOT_CHAT_MODEL: "x.gguf" }, /^--model needs an endpoint/],
  [undefined, { MEMSLOT_CHAT_MODEL: "x.bin" }, /^MEMSLOT_CHAT_MODEL must be the path of a \.gguf file, not "x\.bin"/],
  [undefined, { OPENAI_API_KEY: `"${testKey}"` }, /^the key from OPENAI_API_KEY cannot be right: .*quotes/],
  [undefined, { GEMINI_API_KEY: `${testKey} x` }, /^the key from GEMINI_API_KEY cannot be right/],
  [undefined, { OPENAI_BASE_URL: "localhost:11434/v1" }, /^OPENAI_BASE_URL must be a whole address/],
  [undefined, { OPENAI_BASE_URL: `http://me:${testKey}@127.0.0.1/v1` }, /^OPENAI_BASE_URL must be a whole address/],
  [
    undefined,
    { ...gemini, GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1/?key=${testKey}` },
    /^GOOGLE_GEMINI_BASE_URL must be/,
  ],
  [undefined, { ...openAi, MEMSLOT_CONTEXT_TOKENS: "8k" }, /^MEMSLOT_CONTEXT_TOKENS must be a whole number.*"8k"/],
  [undefined, { ...openAi, MEMSLOT_CONTEXT_TOKENS: "0" }, /^MEMSLOT_CONTEXT_TOKENS/],
  [undefined, { ...openAi, MEMSLOT_CONTEXT_TOKENS: "-5" }, /^MEMSLOT_CONTEXT_TOKENS/],
  [undefined, { ...openAi, MEMSLOT_CONTEXT_TOKENS: "1.5" }, /^MEMSLOT_CONTEXT_TOKENS/],
])("--model %s with %j is refused", async (model, env, message) => {
  const error = await thrownBy((async () => chooseModel({ model }, env))());
  expect(error).toMatchObject({ code: "CONFIG", message: expect.stringMatching(message) });
});

test("choosing loads no SDK and sends nothing; the first request loads the one that it needs", () => {
  // The loader of a process of its own shows it.
  const script = `
    import { registerHooks } from "node:module";
    const seen = [];
    registerHooks({ load(url, context, next) { seen.push(url); return next(url, context); } });
    let sent = 0;
    globalThis.fetch = async () => { sent++; return Response.json({ choices: [{ message: { content: "hi" } }] }); };
    const { chooseModel } = await import(${JSON.stringify(import.meta.resolve("./choose-model.ts"))});
    const loaded = () => ["openai", "@google/genai", "node-llama-cpp"].filter((name) =>
      seen.some((url) => url.includes("/node_modules/" + name + "/")));
    const env = { OPENAI_API_KEY: "sk-1", GEMINI_API_KEY: "k" };
    const models = [undefined, "gemini-2.5-pro", "x.gguf"].map((model) => chooseModel({ model }, env));
    const before = { loaded: loaded(), sent };
    const messages = [{ role: "user", text: "hello" }];
    const { signal } = new AbortController();
    const { text } = await models[0].complete({ system: "", messages, tools: [], mayCallTools: false, signal });
    console.log(JSON.stringify({ before, after: { loaded: loaded(), sent, text } }));
  `;
  const args = ["--conditions=@memslot/source", "--input-type=module", "--eval", script];
  const output = execFileSync(process.execPath, args, { encoding: "utf8", timeout: 50_000 });
  expect(JSON.parse(output)).toEqual({
    before: { loaded: [], sent: 0 },
    after: { loaded: ["openai"], sent: 1, text: "hi" },
  });
});
