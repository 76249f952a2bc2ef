import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { type ChatOptions, runChat } from "../src/chat.ts";

interface Heard {
  output: string;
  notices: string;
  failed: number;
}

async function chat(script: string, options: Partial<ChatOptions> = {}): Promise<Heard> {
  const [input, output, notices] = [new PassThrough(), new PassThrough(), new PassThrough()];
  input.end(script);
  const { failed } = await runChat({
    input,
    output,
    notices,
    interactive: false,
    answerer: {
      answer: async (question) => {
        if (question.includes("fail")) throw new Error("it broke\nbadly");
        return `answer to ${question}`;
      },
    },
    help: "the help",
    signal: new AbortController().signal,
    onInterrupt: () => undefined,
    ...options,
  });
  return { output: String(output.read() ?? ""), notices: String(notices.read() ?? ""), failed };
}

test("a script is answered line by line, blank lines are skipped", async () => {
  expect(await chat("one\n\n   \r\n two \r\nthree")).toEqual({
    output: "answer to one\n\nanswer to two\n\nanswer to three\n",
    notices: "",
    failed: 0,
  });
});

test("a question that fails is told on one line beside the answers, and the chat goes on", async () => {
  expect(await chat("one\nfail\ntwo\n")).toEqual({
    output: "answer to one\n\nanswer to two\n",
    notices: "error: it broke badly\n",
    failed: 1,
  });
});

test("/quit ends it and /help helps", async () => {
  expect(await chat("/help\none\n/quit\ntwo\n")).toEqual({
    output: "answer to one\n",
    notices: "the help\n",
    failed: 0,
  });
});

test("a person at a terminal is asked", async () => {
  const { output } = await chat("one\n/quit\n", { interactive: true });
  expect(output).toContain("you> ");
  expect(output).toContain("answer to one\n");
});

test("Ctrl-C at a terminal is handed on", async () => {
  let interrupts = 0;
  await chat("\u0003", { interactive: true, onInterrupt: () => (interrupts += 1) });
  expect(interrupts).toBe(1);
});

test("an abort ends the chat, also in the middle of an answer", async () => {
  const controller = new AbortController();
  const answerer: ChatOptions["answerer"] = {
    answer: (_question, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
        controller.abort();
      }),
  };
  await expect(chat("one\ntwo\n", { signal: controller.signal, answerer })).rejects.toMatchObject({
    name: "AbortError",
  });
  // Aborted before it began: it must not wait for input.
  await expect(chat("", { signal: controller.signal, input: new PassThrough() })).rejects.toMatchObject({
    name: "AbortError",
  });
  const waiting = new AbortController();
  const input = new PassThrough();
  setTimeout(() => waiting.abort(), 10);
  await expect(chat("", { signal: waiting.signal, input })).rejects.toMatchObject({ name: "AbortError" });
});
