import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tempFolder } from "@memslot/test-tools/files";
import { afterEach, beforeAll, expect, test } from "vitest";
import type { ChatModel } from "./chat-model.ts";
import { chooseModel } from "./choose-model.ts";
import { createLocalModel } from "./local.ts";
import { runToolLoop } from "./tool-loop.ts";
import { never, request, searchTool, thrownBy } from "./test/model-lab.ts";
import { blank, end, newline, writeTinyChatModel } from "./test/tiny-chat-model.ts";

let folder: string;
beforeAll(() => void (folder = tempFolder()));

let model: ChatModel | undefined;
afterEach(async () => model?.close());

/** What comes after a question and after a tool's answer ends with these tokens. */
const talks = { [blank]: "It", It: `${blank}is`, [`${blank}is`]: `${blank}HX-19.` };
const callsATool = {
  [blank]: "||call:",
  "(": '{"query": "gate", "maxResults": null}',
  [newline]: "It",
  It: `${blank}is${blank}HX-19.`,
};
/** Goes on until there is no room. */
const rambles = { [blank]: "la", la: `${blank}la`, [`${blank}la`]: "la" };

function open(name: string, options: Parameters<typeof writeTinyChatModel>[1]): ChatModel {
  const path = join(folder, name);
  writeTinyChatModel(path, options);
  model = chooseModel({ model: path }, {});
  if (model === undefined) throw new Error("no model was chosen");
  return model;
}

test("a model on this machine answers piece by piece, again and again, and also after it was closed", async () => {
  const local = open("talks.gguf", { next: talks, contextLength: 1024 });
  expect([local.name, local.contextWindowTokens]).toEqual(["talks.gguf", 8192]);
  const shown: string[] = [];
  const reply = await local.complete(request({ onText: (delta) => shown.push(delta) }));
  expect(reply).toMatchObject({ text: "It is HX-19.", toolCalls: [], inputTokens: expect.any(Number) });
  expect(shown.join("")).toBe("It is HX-19.");
  expect(shown.length).toBeGreaterThan(1);
  expect(local.contextWindowTokens).toBe(1024);
  const both = await Promise.all([local.complete(request()), local.complete(request())]);
  expect(both.map(({ text }) => text)).toEqual(["It is HX-19.", "It is HX-19."]);
  await local.close();
  expect((await local.complete(request())).text).toBe("It is HX-19.");
});

test("it calls a tool, sees its answer, and answers", async () => {
  const tool = searchTool();
  const { text, messages } = await runToolLoop({
    model: open("calls.gguf", { next: callsATool }),
    system: "You are a test.",
    messages: [
      { role: "user", text: "Hello." },
      { role: "assistant", text: "Hello!" },
      { role: "user", text: "What is the gate code?" },
    ],
    tools: [tool],
    signal: never,
  });
  expect(text).toBe("It is HX-19.");
  expect(tool.inputs).toEqual([{ query: "gate", maxResults: null }]);
  expect(messages.map(({ role }) => role)).toEqual(["assistant", "tool", "assistant"]);
});

test("where words are wanted it is not told of tools", async () => {
  const local = open("calls-2.gguf", { next: callsATool });
  const { text, toolCalls } = await local.complete(request({ tools: [searchTool()], mayCallTools: false }));
  expect([text.trim(), toolCalls]).toEqual(["||call:", []]);
});

test("an abort in the middle ends the answer, and so does closing the model", async () => {
  const local = open("rambles.gguf", { next: rambles });
  const controller = new AbortController();
  const shown: string[] = [];
  const onText = (delta: string): void => {
    shown.push(delta);
    controller.abort();
  };
  const running = local.complete(request({ signal: controller.signal, onText }));
  await expect(running).rejects.toMatchObject({ name: "AbortError" });
  expect(shown).toHaveLength(1);
  const aborted = local.complete(request({ signal: AbortSignal.abort() }));
  await expect(aborted).rejects.toMatchObject({ name: "AbortError" });
  const begun = Promise.withResolvers<void>();
  const last = thrownBy(local.complete(request({ onText: () => begun.resolve() })));
  await begun.promise;
  await local.close();
  expect(await last).toMatchObject({ name: "AbortError" });
});

test("an answer ends where the window does; a conversation that leaves no room is refused", async () => {
  const local = open("small.gguf", { next: rambles, contextLength: 512 });
  const { text, inputTokens = 0 } = await local.complete(request());
  expect(text).toMatch(/^la la/);
  expect(inputTokens + text.length / 3).toBeLessThan(512);
  const messages = [{ role: "user" as const, text: "word ".repeat(120) }];
  const error = await thrownBy(local.complete(request({ messages })));
  expect(error).toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringMatching(/^the conversation is too long for small\.gguf \(\d+ of 512 tokens\), shorten it$/),
  });
});

test("a file that cannot be a chat model is told before native code sees it", async () => {
  const path = join(folder, "broken.gguf");
  const told = async (): Promise<string> => {
    const error = await thrownBy(createLocalModel({ path }).complete(request()));
    expect(error).toMatchObject({ code: "CONFIG" });
    return error.message.replace(path, "PATH");
  };
  expect(await told()).toMatch(
    /^the chat model PATH cannot be used: it cannot be opened \(ENOENT.*check --model or MEMSLOT_CHAT_MODEL$/,
  );
  await writeFile(path, "");
  expect(await told()).toMatch(/it is no GGUF file; name another/);
  await writeFile(path, "<html>404</html>");
  expect(await told()).toMatch(/it is no GGUF file; name another/);
  writeTinyChatModel(path);
  const whole = await readFile(path);
  for (const bytes of [4, 12, 24, 300, 5000, 8000, whole.length - 200_000]) {
    await writeFile(path, whole.subarray(0, bytes));
    expect(await told()).toMatch(/it is cut short; fetch it again/);
  }
  for (const key of ["feed_forward_length", "attention.head_count", "embedding_length", "block_count"]) {
    writeTinyChatModel(path, { without: [`llama.${key}`] });
    expect(await told()).toMatch(new RegExp(`it says nothing of its ${key.replace("attention.", "")}; fetch it again`));
  }
});

test("a file whose weights are cut short is refused, and this process goes on", async () => {
  const path = join(folder, "cut.gguf");
  writeTinyChatModel(path, { next: talks });
  const whole = await readFile(path);
  model = createLocalModel({ path });
  await writeFile(path, whole.subarray(0, -100));
  const error = await thrownBy(model.complete(request()));
  expect(error.message).toMatch(/^cut\.gguf gave no answer: Failed to load/);
  await writeFile(path, whole);
  expect((await model.complete(request())).text).toBe("It is HX-19.");
});

test("without the package the command that installs it is told, and it is looked for again", async () => {
  const path = join(folder, "no-package.gguf");
  writeTinyChatModel(path, { next: { [blank]: end } });
  let looked = 0;
  const load = async (): Promise<never> => {
    looked += 1;
    throw new Error("Cannot find package 'node-llama-cpp'");
  };
  model = createLocalModel({ path, load });
  for (const count of [1, 2]) {
    const error = await thrownBy(model.complete(request()));
    expect(error).toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringMatching(/npm install node-llama-cpp@3\.22\.1/),
    });
    expect(looked).toBe(count);
  }
});

test("choosing a model loads no SDK and sends nothing; the first request loads the one that it needs", () => {
  // The module loader of a new process shows it.
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
