import path from "node:path";
import { messageOf, withDeadline } from "@memslot/core";
import { type Agent, createAgent } from "./agent.ts";
import { type Teller, answerOne, runChat } from "./chat.ts";
import { chatCommands } from "./chat-commands.ts";
import { openHistory } from "./input-history.ts";
import { type Interrupt, exitInterrupted, listenForInterrupt } from "./interrupt.ts";
import { type ChatModel } from "./models/chat-model.ts";
import { chooseModel } from "./models/choose-model.ts";
import { type OpenedNotes, describeIndex, openNotes } from "./open-notes.ts";
import { type DemoOptions, parseOptions, usage } from "./cli-options.ts";
import { createSampleWorkspace, sampleQuestions } from "./sample-workspace.ts";

const { stdin, stdout, stderr, env } = process;

/** Longest delay of the exit by a flush. */
const farewellMs = 5_000;

/** Everything but answers goes to stderr. */
const teller: Teller = { tell: (line) => void stderr.write(`${line}\n`) };
const tell = (line: string): void => teller.tell(line);

async function run(options: DemoOptions, model: ChatModel | undefined, interrupt: Interrupt): Promise<number> {
  const sample = options.workspaceDir === undefined ? await createSampleWorkspace() : undefined;
  const removeNow = (): void => sample?.removeNow();
  // Also if the process ends without waiting.
  process.once("exit", removeNow);
  let notes: OpenedNotes | undefined;
  let agent: Agent | undefined;
  try {
    const { signal } = interrupt;
    notes = await openNotes({ ...options, sample, env, cwd: process.cwd(), notify: tell, signal });
    const index = await sync(notes, signal);
    const { stateDir } = notes.config;
    const sessionKey = `agent:${notes.agent.id}:main`;
    agent = await createAgent({ ...notes, stateDir, sessionKey, model, notify: tell });
    const interactive = options.ask === undefined && stdin.isTTY === true && stdout.isTTY === true;
    tell(banner({ notes, agent, model, index }));
    const shared = { agent, output: stdout, notices: stderr, interactive, signal };
    let failed = 0;
    if (options.ask !== undefined) await answerOne(shared, options.ask);
    else {
      const historyFile = sample === undefined && interactive ? path.join(stateDir, "demo-history") : undefined;
      const chat = { input: stdin, commands: chatCommands(agent, notes), history: openHistory(historyFile, tell) };
      ({ failed } = await runChat({ ...shared, ...chat, teller, onInterrupt: () => interrupt.stop(exitInterrupted) }));
    }
    // The copy is about to be removed.
    if (sample === undefined && model !== undefined) await finishFlushes(agent, signal);
    return failed === 0 ? 0 : 1;
  } finally {
    await agent?.close();
    await model?.close();
    await notes?.memory?.close();
    await sample?.remove();
    process.off("exit", removeNow);
  }
}

async function finishFlushes(agent: Agent, signal: AbortSignal): Promise<void> {
  const limits = { what: "the memory flush", deadlineMs: farewellMs, signals: [signal] };
  await withDeadline(limits, () => agent.settled()).catch((error: unknown) => tell(messageOf(error)));
  if (agent.pendingFlushes > 0)
    tell("What was not saved to memory yet is in the journal; the next start goes on with it.");
}

/** Facts to know before the first question. */
function banner(opened: { notes: OpenedNotes; agent: Agent; model?: ChatModel | undefined; index: string }): string {
  const { notes, agent, model, index } = opened;
  const lines = [
    "memslot demo agent: ask about a folder of Markdown notes, and see the source of each answer.",
    `Notes: ${notes.agent.workspaceDir}${notes.isSample ? " (a copy of the sample notes, removed at the end)" : ""}`,
    `Index: ${index}`,
    `Answers: ${model ? `${model.name}, which reads the notes through tools` : withoutModel}`,
  ];
  if (notes.isSample) lines.push("Try:", ...sampleQuestions.map((question) => `  ${question}`));
  if (agent.unanswered !== undefined)
    lines.push(
      `Not answered yet: ${agent.unanswered}`,
      "Enter on an empty line has it answered, or the same question.",
    );
  return [...lines, "/help lists the commands, /quit leaves.", ""].join("\n");
}

const withoutModel: string =
  "a built-in responder. It is not a language model: it finds lines in the notes and quotes them. Set OPENAI_API_KEY, OPENAI_BASE_URL or GEMINI_API_KEY, or pass --model FILE.gguf, to use a language model.";

async function sync({ memory, offReason }: OpenedNotes, signal: AbortSignal): Promise<string> {
  if (memory === undefined) return `none, memory is off: ${offReason}`;
  let shownMs = -Infinity;
  // One line, overwritten on a terminal; nothing in a pipe.
  const progress = ({ completed, total }: { completed: number; total: number }): void => {
    if (!stderr.isTTY || performance.now() - shownMs < 50) return;
    shownMs = performance.now();
    stderr.write(`\r\u001B[KReading notes ${completed}/${total} …`);
  };
  try {
    const report = await memory.sync({ reason: "session-start", progress, signal });
    return describeIndex(memory.status(), report);
  } finally {
    if (stderr.isTTY) stderr.write("\r\u001B[K");
  }
}

async function main(): Promise<number> {
  const parsed = parseOptions(process.argv.slice(2));
  if (parsed.kind === "help") {
    stdout.write(usage);
    return 0;
  }
  if (parsed.kind === "usage") {
    stderr.write(`${parsed.error}\n\n${usage}`);
    return 2;
  }
  const { options } = parsed;
  const interrupt = listenForInterrupt();
  try {
    const exitCode = options.tour
      ? await (await import("./tour/run-tour.ts")).runTour({ output: stdout, signal: interrupt.signal })
      : await run(options, chooseModel(options, env), interrupt);
    return interrupt.exitCode() ?? exitCode;
  } catch (error) {
    const exitCode = interrupt.exitCode();
    if (exitCode === undefined) tell(`error: ${messageOf(error)}`);
    return exitCode ?? 1;
  }
}

process.exitCode = await main();
