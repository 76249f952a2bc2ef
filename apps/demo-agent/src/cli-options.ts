import { parseArgs } from "node:util";
import { messageOf } from "@memslot/core";

export interface DemoOptions {
  workspaceDir: string | undefined;
  backend: string | undefined;
  /** The language model; undefined: chosen by the environment. */
  model: string | undefined;
  /** One question to answer instead of a chat. */
  ask: string | undefined;
  tour: boolean;
}

export type ParsedOptions =
  | { readonly kind: "run"; readonly options: DemoOptions }
  | { readonly kind: "help" }
  | { readonly kind: "usage"; readonly error: string };

export const usage: string = `Usage: npm start -- [options]

Chats about a folder of Markdown notes, and says where each answer stands.

Options:
  --workspace DIR   use your own notes instead of a copy of the sample notes
  --backend ID      use this memory backend for the run (sets plugins.slots.memory)
  --model NAME      the language model to use: a name at an endpoint, or a .gguf file
  --ask QUESTION    answer one question and exit
  --tour            play a month of an assistant's life in under a minute
  --help            show this text

Questions may also be piped in, one on each line.

Environment:
  OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL   an OpenAI-compatible endpoint
  GEMINI_API_KEY                                  Gemini
  Without any of them a built-in responder answers.
`;

export function parseOptions(args: readonly string[]): ParsedOptions {
  const [string, boolean] = [{ type: "string" }, { type: "boolean" }] as const;
  const texts = { workspace: string, backend: string, model: string, ask: string };
  const known = { ...texts, tour: boolean, help: { ...boolean, short: "h" } };
  let values: { workspace?: string; backend?: string; model?: string; ask?: string; tour?: boolean; help?: boolean };
  try {
    // Some package managers pass the separator on.
    ({ values } = parseArgs({ args: args[0] === "--" ? args.slice(1) : [...args], options: known }));
  } catch (error) {
    return { kind: "usage", error: messageOf(error) };
  }
  if (values.help) return { kind: "help" };
  const { workspace: workspaceDir, backend, model, ask, tour = false } = values;
  const blank = Object.entries(values).find(([, value]) => typeof value === "string" && value.trim() === "");
  if (blank !== undefined) return { kind: "usage", error: `--${blank[0]} needs a value` };
  return { kind: "run", options: { workspaceDir, backend, model, ask, tour } };
}
