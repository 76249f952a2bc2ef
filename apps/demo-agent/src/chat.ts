import readline from "node:readline";
import { messageOf } from "@memslot/core";
import type { Answerer } from "./answerer.ts";

export interface ChatOptions {
  input: NodeJS.ReadableStream;
  /** Takes the answers. */
  output: NodeJS.WritableStream;
  /** Takes everything else. */
  notices: NodeJS.WritableStream;
  /** A person at a terminal; otherwise the input is a script with one question on each line. */
  interactive: boolean;
  answerer: Answerer;
  help: string;
  signal: AbortSignal;
  /** A terminal in line mode keeps Ctrl-C to itself; it is handed on here. */
  onInterrupt: () => void;
}

/** Answers line by line until the input ends or `/quit`. Gives the number of questions that failed. */
export async function runChat(options: ChatOptions): Promise<{ failed: number }> {
  const { interactive, notices, signal } = options;
  signal.throwIfAborted();
  const lines = readline.createInterface({
    input: options.input,
    ...(interactive && { output: options.output, prompt: "you> " }),
    terminal: interactive,
    crlfDelay: Infinity,
  });
  const close = (): void => lines.close();
  signal.addEventListener("abort", close, { once: true });
  lines.on("SIGINT", options.onInterrupt);
  // Lines that came before the end are still handed out after it.
  let ended = false;
  lines.on("close", () => (ended = true));
  let failed = 0;
  let answered = 0;
  let quit = false;
  try {
    if (interactive) lines.prompt();
    for await (const line of lines) {
      const question = line.trim();
      quit = question === "/quit" || question === "/exit";
      if (quit) break;
      if (question === "/help") notices.write(`${options.help}\n`);
      else if (question !== "") {
        // A blank line keeps the answers of a script apart.
        const before = answered > 0 && !interactive ? "\n" : "";
        if (await answerOne(options, question, before)) answered += 1;
        else failed += 1;
      }
      if (interactive && !ended) lines.prompt();
    }
    signal.throwIfAborted();
    return { failed };
  } finally {
    signal.removeEventListener("abort", close);
    lines.close();
    // Ctrl-C and Ctrl-D leave the prompt standing.
    if (interactive && !quit) notices.write("\n");
  }
}

/** False when there was no answer; the reason is then among the notices. */
export async function answerOne(
  options: Pick<ChatOptions, "answerer" | "output" | "notices" | "signal">,
  question: string,
  before = "",
): Promise<boolean> {
  try {
    const answer = await options.answerer.answer(question, { signal: options.signal });
    options.output.write(`${before}${answer}\n`);
    return true;
  } catch (error) {
    options.signal.throwIfAborted();
    options.notices.write(`error: ${messageOf(error)}\n`);
    return false;
  }
}
