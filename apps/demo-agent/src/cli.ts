import type { SyncReport } from "@memslot/core";
import { createMemoryTools } from "@memslot/agent-kit";
import { messageOf } from "@memslot/core";
import type { Answerer } from "./answerer.ts";
import { bannerText, helpText } from "./banner.ts";
import { answerOne, runChat } from "./chat.ts";
import { type Interrupt, exitInterrupted, listenForInterrupt } from "./interrupt.ts";
import { createModelLoop } from "./model-loop.ts";
import { type OpenedNotes, describeIndex, openNotes } from "./open-notes.ts";
import { type DemoOptions, parseOptions, usage } from "./options.ts";
import { createResponder } from "./responder.ts";
import { createSampleWorkspace } from "./sample-workspace.ts";
import { buildSystemPrompt } from "./system-prompt.ts";

const { stdin, stdout, stderr } = process;

/** Everything but answers goes to stderr, so that stdout holds answers alone. */
const tell = (line: string): void => void stderr.write(`${line}\n`);

async function run(options: DemoOptions, interrupt: Interrupt): Promise<number> {
  const sample = options.workspaceDir === undefined ? await createSampleWorkspace() : undefined;
  const removeNow = (): void => sample?.removeNow();
  // Also when the process ends without waiting for anything.
  process.once("exit", removeNow);
  let notes: OpenedNotes | undefined;
  try {
    const { signal } = interrupt;
    notes = await openNotes({ ...options, sample, env: process.env, cwd: process.cwd(), notify: tell, signal });
    const report = await sync(notes, signal);
    const index =
      notes.memory === undefined
        ? `none, memory is off: ${notes.offReason}`
        : describeIndex(notes.memory.status(), report);
    tell(bannerText({ options, workspaceDir: notes.workspaceDir, isSample: sample !== undefined, index }));
    const answerer = await chooseAnswerer(options, notes);
    const shared = { answerer, output: stdout, notices: stderr, signal };
    if (options.ask !== undefined) return (await answerOne(shared, options.ask)) ? 0 : 1;
    const { failed } = await runChat({
      ...shared,
      input: stdin,
      interactive: stdin.isTTY === true && stdout.isTTY === true,
      help: helpText(sample !== undefined),
      onInterrupt: () => interrupt.stop(exitInterrupted),
    });
    return failed === 0 ? 0 : 1;
  } finally {
    await notes?.memory?.close();
    await sample?.remove();
    process.off("exit", removeNow);
  }
}

async function sync(notes: OpenedNotes, signal: AbortSignal): Promise<SyncReport | undefined> {
  const line = progressLine();
  try {
    return await notes.memory?.sync({ reason: "session-start", progress: line.show, signal });
  } finally {
    line.clear();
  }
}

/** One line that is written over on a terminal; in a pipe there is nothing to watch. */
function progressLine(): { show: (update: { completed: number; total: number }) => void; clear: () => void } {
  if (!stderr.isTTY) return { show: () => undefined, clear: () => undefined };
  let shownMs = -Infinity;
  return {
    show: ({ completed, total }) => {
      const nowMs = performance.now();
      if (nowMs - shownMs < 50) return;
      shownMs = nowMs;
      stderr.write(`\r\u001B[KReading notes ${completed}/${total} …`);
    },
    clear: () => void stderr.write("\r\u001B[K"),
  };
}

async function chooseAnswerer(options: DemoOptions, notes: OpenedNotes): Promise<Answerer> {
  const { endpoint } = options;
  if (endpoint === undefined) return createResponder(notes);
  const { memory, citations, workspaceDir } = notes;
  // An agent without memory is not offered the tools at all.
  const tools = memory === undefined ? [] : createMemoryTools({ memory, citations, chatType: "direct" });
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const toolNames = tools.map(({ name }) => name);
  const systemPrompt = await buildSystemPrompt({ workspaceDir, toolNames, citations, now: new Date(), timeZone });
  return createModelLoop({ endpoint, systemPrompt, tools });
}

async function main(): Promise<number> {
  const parsed = parseOptions(process.argv.slice(2), process.env);
  if (parsed.kind === "help") {
    stdout.write(usage);
    return 0;
  }
  if (parsed.kind === "usage") {
    stderr.write(`${parsed.error}\n\n${usage}`);
    return 2;
  }
  const interrupt = listenForInterrupt();
  try {
    const exitCode = await run(parsed.options, interrupt);
    return interrupt.exitCode() ?? exitCode;
  } catch (error) {
    const exitCode = interrupt.exitCode();
    if (exitCode !== undefined) return exitCode;
    tell(`error: ${messageOf(error)}`);
    return 1;
  }
}

process.exitCode = await main();
