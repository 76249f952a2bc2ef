import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "@memslot/test-tools/files";
import { afterEach, beforeAll, expect, test } from "vitest";
import type { ChatModel } from "./chat-model.ts";
import { chooseModel } from "./choose-model.ts";
import { createLocalModel } from "./local-model.ts";
import { runToolLoop } from "./tool-loop.ts";
import { never, request, searchTool, thrownBy } from "./test/model-lab.ts";
import { blank, newline, writeTinyChatModel } from "./test/tiny-chat-model.ts";

let folder: string;
beforeAll(() => void (folder = tempFolder()));
let model: ChatModel | undefined;
afterEach(async () => model?.close());

function open(name: string, options: Parameters<typeof writeTinyChatModel>[1]): ChatModel {
  const path = join(folder, name);
  writeTinyChatModel(path, options);
  model = chooseModel({ model: path }, {});
  return model ?? expect.fail("no model was chosen");
}

const is = `${blank}is`;
const talks = { [blank]: "It", It: is, [is]: `${blank}HX-19.` };

test("a model on this machine answers piece by piece, also after it was closed", async () => {
  const local = open("talks.gguf", { next: talks, contextLength: 1024 });
  expect([local.name, local.contextWindowTokens]).toEqual(["talks.gguf", 8192]);
  const shown: string[] = [];
  const reply = await local.complete(request({ onText: (delta) => shown.push(delta) }));
  expect(reply).toMatchObject({ text: "It is HX-19.", toolCalls: [], inputTokens: expect.any(Number) });
  expect(shown.join("")).toBe("It is HX-19.");
  expect(shown.length).toBeGreaterThan(1);
  expect(local.contextWindowTokens).toBe(1024);
  await local.close();
  expect((await local.complete(request())).text).toBe("It is HX-19.");
});

test("it calls a tool, sees its answer, and answers; where words are wanted it knows no tools", async () => {
  const next = {
    [blank]: "||call:",
    "(": '{"query": "gate", "maxResults": null}',
    [newline]: "It",
    It: `${is}${blank}HX-19.`,
  };
  const local = open("calls.gguf", { next });
  const tool = searchTool();
  const { messages } = request();
  const result = await runToolLoop({ model: local, system: "A test.", messages, tools: [tool], signal: never });
  expect(result.text).toBe("It is HX-19.");
  expect(tool.inputs).toEqual([{ query: "gate", maxResults: null }]);
  const { text, toolCalls } = await local.complete(request({ tools: [searchTool()], mayCallTools: false }));
  expect([text.trim(), toolCalls]).toEqual(["||call:", []]);
});

test("an answer ends with an abort, with the model and with the window", async () => {
  const next = { [blank]: "la", la: `${blank}la`, [`${blank}la`]: "la" };
  const local = open("rambles.gguf", { next, contextLength: 512 });
  const controller = new AbortController();
  const running = local.complete(request({ signal: controller.signal, onText: () => controller.abort() }));
  await expect(running).rejects.toMatchObject({ name: "AbortError" });
  const begun = Promise.withResolvers<void>();
  const last = thrownBy(local.complete(request({ onText: () => begun.resolve() })));
  await begun.promise;
  await local.close();
  expect(await last).toMatchObject({ name: "AbortError" });
  const { text, inputTokens = 0 } = await local.complete(request());
  expect(inputTokens + text.length / 3).toBeLessThan(512);
  const messages = [{ role: "user" as const, text: "word ".repeat(120) }];
  expect(await thrownBy(local.complete(request({ messages })))).toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringMatching(
      /^the conversation is too long for rambles\.gguf \(\d+ of 512 tokens\), shorten it$/,
    ),
  });
});

test("a file that cannot be a chat model is refused before native code reads it", async () => {
  const path = join(folder, "broken.gguf");
  const messageOf = async (): Promise<string> => {
    const error = await thrownBy(createLocalModel({ path }).complete(request()));
    expect(error).toMatchObject({ code: "CONFIG" });
    return error.message;
  };
  expect(await messageOf()).toMatch(/it cannot be opened \(ENOENT.*check --model or MEMSLOT_CHAT_MODEL$/);
  writeFileSync(path, "<html>404</html>");
  expect(await messageOf()).toMatch(/it is no GGUF file; name another/);
  writeTinyChatModel(path);
  const whole = readFileSync(path);
  for (const bytes of [4, 12, 24, 300, 5000, 8000, whole.length - 200_000]) {
    writeFileSync(path, whole.subarray(0, bytes));
    expect(await messageOf()).toMatch(/it is cut short; fetch it again/);
  }
  writeTinyChatModel(path, { without: ["llama.block_count"] });
  expect(await messageOf()).toMatch(/it says nothing of its block_count; fetch it again/);
});

test("without the package the command that installs it is named", async () => {
  const path = join(folder, "no-package.gguf");
  writeTinyChatModel(path);
  model = createLocalModel({ path, load: () => Promise.reject(new Error("Cannot find package 'node-llama-cpp'")) });
  expect(await thrownBy(model.complete(request()))).toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringMatching(/npm install node-llama-cpp@3\.22\.1/),
  });
});
