import { PassThrough } from "node:stream";
import { expect, test, vi } from "vitest";
import type { Agent } from "./agent.ts";
import { type ChatOptions, runChat } from "./chat.ts";
import data from "./test/chat.json" with { type: "json" };

interface Heard {
  output: string;
  notices: string;
  failed: number;
}

const agentThat = (ask: Agent["ask"], unanswered?: string): Agent => ({
  ask,
  flush: async () => "flushed",
  compact: async () => "compacted",
  newSession: async () => "new",
  useMemory: () => undefined,
  status: () => "fine",
  sources: [],
  unanswered,
  pendingFlushes: 0,
  settled: async () => undefined,
  close: async () => undefined,
});

const obliging: Agent["ask"] = async (question, { onText }) => {
  if (question.includes("fail")) throw new Error("it broke\nbadly");
  const text = `answer to ${question}`;
  onText?.(text);
  const sources = question === "one" ? ["memory/a.md#L1-L2", "MEMORY.md#L3-L3"] : [];
  return { text, sources, searched: question !== "three" };
};

async function chat(script: string, options: Partial<ChatOptions> = {}): Promise<Heard> {
  const input = new PassThrough();
  input.end(script);
  return await chatOn(input, options);
}

async function chatOn(input: PassThrough, options: Partial<ChatOptions>): Promise<Heard> {
  const [output, notices] = [new PassThrough(), new PassThrough()];
  const { failed } = await runChat({
    input,
    output,
    notices,
    interactive: false,
    agent: agentThat(obliging),
    commands: [
      { name: "help", usage: "help", help: "", run: async () => "the help" },
      { name: "status", usage: "status", help: "", run: async (argument) => `status of ${argument}` },
    ],
    history: { lines: [], keep: () => undefined },
    teller: { tell: () => undefined },
    signal: new AbortController().signal,
    onInterrupt: () => undefined,
    ...options,
  });
  return { output: String(output.read() ?? ""), notices: String(notices.read() ?? ""), failed };
}

test("a script is answered line by line, blank lines are skipped, and each answer says what it rests on", async () => {
  expect(await chat("one\n\n   \r\n two \r\nthree")).toEqual(data.lineByLine);
});

test("a question that fails is told on one line beside the answers, and the chat goes on", async () => {
  const { output, notices, failed } = await chat("one\nfail\ntwo\n");
  expect({ output, failed }).toEqual({ output: "answer to one\n\nanswer to two\n", failed: 1 });
  expect(notices).toMatch(/^error: it broke badly$/m);
});

test("/quit ends it, and commands answer beside the answers", async () => {
  expect(await chat("/help\n/status  of all \none\n/quit\ntwo\n")).toMatchObject({
    output: "answer to one\n",
    notices: expect.stringMatching(/^the help\nstatus of of all\nMemory: /),
    failed: 0,
  });
  expect((await chat("/stats\n/\n")).notices).toMatch(/no \/stats\. Did you mean \/status\?/);
});

test("what notes and models say cannot steer the terminal", async () => {
  const agent = agentThat(async () => data.steering);
  expect((await chat("x\n", { agent })).output).toBe("[2Jred back\tkept\nline\n");
});

test("Enter on an empty line has an open question answered, once; a script never does", async () => {
  const asked: string[] = [];
  const ask: Agent["ask"] = async (question) => {
    asked.push(question);
    return { text: "now", sources: [], searched: false };
  };
  await chat("\n\nother\n", { interactive: true, agent: agentThat(ask, "left open?") });
  expect(asked.splice(0)).toEqual(["left open?", "other"]);
  await chat("other\n\n", { interactive: true, agent: agentThat(ask, "left open?") });
  expect(asked.splice(0)).toEqual(["other"]);
  await chat("\nother\n", { agent: agentThat(ask, "left open?") });
  expect(asked).toEqual(["other"]);
});

test("Ctrl-C at the prompt has to be pressed twice in a row", async () => {
  let interrupts = 0;
  const onInterrupt = (): void => void (interrupts += 1);
  await chat("\u0003one\n\u0003two\n", { interactive: true, onInterrupt });
  expect(interrupts).toBe(0);
  await chat("\u0003\u0003", { interactive: true, onInterrupt });
  expect(interrupts).toBe(1);
});

test("Ctrl-C that stopped an answer does not count at the prompt later, but does within two seconds", async () => {
  const now = vi.spyOn(performance, "now");
  for (const [laterMs, leaves] of data.secondInterrupt as [number, boolean][]) {
    let interrupts = 0;
    now.mockReturnValue(10_000);
    const input = new PassThrough();
    const agent = agentThat((_question, { signal }) => {
      setImmediate(() => input.write("\u0003"));
      return new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          reject(signal.reason);
          now.mockReturnValue(10_000 + laterMs);
          setImmediate(() => input.end("\u0003"));
        });
      });
    });
    input.write("one\r");
    const { notices } = await chatOn(input, { interactive: true, agent, onInterrupt: () => void (interrupts += 1) });
    expect([notices.includes("(stopped)"), interrupts]).toEqual([true, leaves ? 1 : 0]);
  }
  now.mockRestore();
});

test("an abort ends the chat, also in the middle of an answer", async () => {
  const controller = new AbortController();
  const agent = agentThat(
    (_question, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
        controller.abort();
      }),
  );
  const aborted = { name: "AbortError" };
  await expect(chat("one\ntwo\n", { signal: controller.signal, agent })).rejects.toMatchObject(aborted);
  // Aborted before it began: it must not wait for input.
  await expect(chat("", { signal: controller.signal, input: new PassThrough() })).rejects.toMatchObject(aborted);
  const waiting = new AbortController();
  setImmediate(() => waiting.abort());
  await expect(chat("", { signal: waiting.signal, input: new PassThrough() })).rejects.toMatchObject(aborted);
});
