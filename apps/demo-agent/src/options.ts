import { parseArgs } from "node:util";

export interface DemoOptions {
  /** The user's own notes; undefined for the bundled sample. */
  workspaceDir: string | undefined;
  /** What `plugins.slots.memory` is for this run. */
  backend: string | undefined;
  /** Undefined when nothing in the environment names an endpoint. */
  endpoint: Endpoint | undefined;
  /** One question to answer instead of a chat. */
  ask: string | undefined;
}

/** Where a language model answers. */
export interface Endpoint {
  /** Undefined where the endpoint wants none. */
  apiKey: string | undefined;
  /** Undefined for the SDK's own. */
  baseUrl: string | undefined;
  model: string;
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
  --model NAME      the language model to use; needs OPENAI_API_KEY or OPENAI_BASE_URL
  --ask QUESTION    answer one question and exit
  --help            show this text

Questions may also be piped in, one on each line.

Environment:
  OPENAI_API_KEY, OPENAI_BASE_URL   an OpenAI-compatible endpoint; without one a built-in responder answers
  OPENAI_MODEL                      the model where --model is left out (gpt-4o-mini)
`;

export function parseOptions(args: readonly string[], env: NodeJS.ProcessEnv): ParsedOptions {
  let values: { workspace?: string; backend?: string; model?: string; ask?: string; help?: boolean };
  try {
    ({ values } = parseArgs({
      // Some package managers hand the separator on.
      args: args[0] === "--" ? args.slice(1) : [...args],
      options: {
        workspace: { type: "string" },
        backend: { type: "string" },
        model: { type: "string" },
        ask: { type: "string" },
        help: { type: "boolean", short: "h" },
      },
    }));
  } catch (error) {
    return { kind: "usage", error: error instanceof Error ? error.message : String(error) };
  }
  if (values.help) return { kind: "help" };
  for (const name of ["workspace", "backend", "model", "ask"] as const) {
    if (values[name]?.trim() === "") return { kind: "usage", error: `--${name} needs a value` };
  }
  const endpoint = endpointOf(env, values.model);
  if (values.model !== undefined && endpoint === undefined) {
    return { kind: "usage", error: "--model needs an endpoint: set OPENAI_API_KEY or OPENAI_BASE_URL" };
  }
  return {
    kind: "run",
    options: { workspaceDir: values.workspace, backend: values.backend, endpoint, ask: values.ask },
  };
}

function endpointOf(env: NodeJS.ProcessEnv, model: string | undefined): Endpoint | undefined {
  const apiKey = env["OPENAI_API_KEY"]?.trim() || undefined;
  const baseUrl = env["OPENAI_BASE_URL"]?.trim() || undefined;
  if (apiKey === undefined && baseUrl === undefined) return undefined;
  return { apiKey, baseUrl, model: model ?? (env["OPENAI_MODEL"]?.trim() || "gpt-4o-mini") };
}
