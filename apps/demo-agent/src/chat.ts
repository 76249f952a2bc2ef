import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { styleText } from "node:util";
import { isAbort, messageOf } from "@memslot/core";
import type { Agent } from "./agent.ts";
import { type Command, runCommand } from "./chat-commands.ts";
import { type History, maxHistoryLines } from "./input-history.ts";

/** Receives notices. A chat at a terminal takes it over, so that none appears in an answer or a prompt. */
export interface Teller {
  tell(line: string): void;
}

export interface ChatOptions {
  input: NodeJS.ReadableStream;
  output: NodeJS.WritableStream;
  notices: NodeJS.WritableStream;
  /** A terminal; otherwise the input is a script with one question on each line. */
  interactive: boolean;
  agent: Agent;
  commands: readonly Command[];
  history: History;
  teller: Teller;
  signal: AbortSignal;
  /** Called when the user leaves by Ctrl-C. */
  onInterrupt: () => void;
}

const leavingMs = 2_000;

/** Answers line by line until the input ends or `/quit`. Returns the number of failed questions and commands. */
export async function runChat(options: ChatOptions): Promise<{ failed: number }> {
  const { interactive, agent, commands, notices, output, history, signal } = options;
  signal.throwIfAborted();
  let [failed, answered, ended, quit] = [0, 0, false, false];
  let turn: AbortController | undefined;
  let pressed: { ms: number; atPrompt: boolean } | undefined;
  const waiting: string[] = [];
  const names = [...commands.map(({ name }) => `/${name}`), "/quit"];
  const lines = createInterface({
    input: options.input,
    terminal: interactive,
    crlfDelay: Infinity,
    ...(interactive && {
      // Typed text waits for the prompt while an answer is shown, and a new window size does not erase the answer.
      output: screen(output, () => turn !== undefined),
      prompt: styled("bold", "you> ", output),
      history: history.lines,
      historySize: maxHistoryLines,
      removeHistoryDuplicates: true,
      completer: (line: string): [string[], string] => [names.filter((name) => line && name.startsWith(line)), line],
    }),
  });
  const close = (): void => lines.close();
  signal.addEventListener("abort", close, { once: true });
  // Lines received before the end are still delivered.
  lines.on("close", () => (ended = true));
  lines.on("history", (typed) => history.keep(typed));
  lines.on("line", () => (pressed = undefined));
  lines.on("SIGINT", () => {
    const atPrompt = turn === undefined;
    const ms = performance.now();
    if (pressed && (ms - pressed.ms < leavingMs || (atPrompt && pressed.atPrompt))) return options.onInterrupt();
    pressed = { ms, atPrompt };
    if (turn !== undefined) return turn.abort();
    // Empties the line.
    lines.write(null, { ctrl: true, name: "e" });
    lines.write(null, { ctrl: true, name: "u" });
    options.teller.tell("(Ctrl-C again leaves)");
  });
  if (interactive)
    options.teller.tell = (line) => {
      if (turn !== undefined) return void waiting.push(line);
      notices.write(`\r\u001B[K${line}\n`);
      if (!ended) lines.prompt(true);
    };

  /** Ctrl-C ends a turn and nothing else. */
  async function run(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const own = (turn = new AbortController());
    try {
      await work(AbortSignal.any([signal, own.signal]));
    } catch (error) {
      signal.throwIfAborted();
      // A user has seen it; a script gets it in its exit code.
      if (!interactive) failed += 1;
      notices.write(own.signal.aborted && isAbort(error) ? "\n(stopped)\n" : `error: ${printable(messageOf(error))}\n`);
    } finally {
      turn = undefined;
    }
    for (const line of waiting.splice(0)) options.teller.tell(line);
  }

  try {
    let offered = interactive ? agent.unanswered : undefined;
    if (interactive) lines.prompt();
    for await (const line of lines) {
      const typed = line.trim() || (offered ?? "");
      offered = undefined;
      quit = typed === "/quit" || typed === "/exit";
      if (quit) break;
      if (typed.startsWith("/")) {
        await run(async (own) => void notices.write(`${printable(await runCommand(commands, typed, own))}\n`));
      } else if (typed !== "") {
        await run(async (own) => {
          // A blank line keeps the answers of a script apart.
          await answerOne({ ...options, signal: own }, typed, answered > 0 && !interactive ? "\n" : "");
          answered += 1;
        });
      }
      if (interactive && !ended) lines.prompt(true);
    }
    signal.throwIfAborted();
    return { failed };
  } finally {
    signal.removeEventListener("abort", close);
    lines.close();
    // Ctrl-C and Ctrl-D leave the prompt on the line.
    if (interactive && !quit) notices.write("\n");
  }
}

/** At a terminal the answer is shown as it comes. */
export async function answerOne(
  options: Pick<ChatOptions, "agent" | "output" | "notices" | "interactive" | "signal">,
  question: string,
  before = "",
): Promise<void> {
  const { agent, output, notices, interactive, signal } = options;
  const onText = interactive ? (delta: string) => void output.write(printable(delta)) : undefined;
  const { text, sources, searched } = await agent.ask(question, { signal, onText });
  output.write(interactive ? "\n" : `${before}${printable(text)}\n`);
  notices.write(
    `${styled("dim", `Memory: ${sources.join(", ") || (searched ? "searched, and nothing of it used" : "nothing was looked up")}`, notices)}\n`,
  );
}

/** Notes and models decide what is shown, but must not control the terminal. */
function printable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]|\p{Bidi_Control}/gu, "");
}

function styled(format: "bold" | "dim", text: string, stream: NodeJS.WritableStream): string {
  return Reflect.get(stream, "isTTY") === true ? styleText(format, text, { stream }) : text;
}

/** The terminal for the line editor; hides what the editor draws while `isBusy`. */
function screen(output: NodeJS.WritableStream, isBusy: () => boolean): NodeJS.WritableStream {
  const write = (chunk: Buffer): unknown => isBusy() || output.write(chunk);
  const shown = new Writable({ write: (chunk: Buffer, _encoding, done) => void (write(chunk), done()) });
  Object.defineProperty(shown, "columns", { get: () => Reflect.get(output, "columns") });
  output.on("resize", () => void (isBusy() || shown.emit("resize")));
  return shown;
}
