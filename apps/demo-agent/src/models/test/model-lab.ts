import { inspect } from "node:util";
import type { MemoryTool } from "@memslot/agent-kit";
import type { ChatModel, ModelReply, ModelRequest } from "../chat-model.ts";
import { chooseModel } from "../choose-model.ts";

/** The key that every test uses, so that one check finds it in any output. */
export const testKey = "sk-test-4711-abcdef";

export const never: AbortSignal = new AbortController().signal;

/** A request with defaults for everything but the fields of the test. */
export function request(given: Partial<ModelRequest> = {}): ModelRequest {
  return {
    system: "You are a test.",
    messages: [{ role: "user", text: "What is the gate code?" }],
    tools: [],
    mayCallTools: given.tools !== undefined,
    signal: never,
    ...given,
  };
}

/** A search tool that keeps its inputs. */
export function searchTool(
  execute: MemoryTool["execute"] = async () => ({ status: "ok", results: ["HX-19"] as never[] }),
): MemoryTool & { inputs: unknown[] } {
  const inputs: unknown[] = [];
  const properties: MemoryTool["inputSchema"]["properties"] = {
    query: { type: "string", description: "What to look for." },
    maxResults: { type: "integer" },
  };
  return {
    name: "memory_search",
    description: "Searches the notes.",
    inputSchema: { type: "object", properties, required: ["query"], additionalProperties: false },
    inputs,
    execute: (input, options) => {
      inputs.push(input);
      return execute(input, options);
    },
  };
}

/** The model that a user gets for an endpoint at this address. */
export function openAiAt(baseUrl: string): ChatModel {
  const model = chooseModel({ model: "test-model" }, { OPENAI_API_KEY: testKey, OPENAI_BASE_URL: baseUrl });
  if (model === undefined) throw new Error("no model was chosen");
  return model;
}

/** The error that a call throws. Fails if the key is anywhere in it, or if its message has more than one line. */
export async function thrownBy(call: Promise<unknown>): Promise<Error & { code?: string }> {
  const error = await call.then(
    (value) => new Error(`nothing was thrown, but returned: ${inspect(value)}`),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Error)) throw new TypeError(`not an error: ${inspect(error)}`);
  const texts = [error.message, inspect(error, { depth: 9 }), JSON.stringify(error), error.stack ?? ""];
  if (texts.some((text) => text.includes(testKey))) throw new Error("the key is in the error");
  if (error.message.includes("\n")) throw new Error(`more than one line: ${error.message}`);
  return error;
}

/** A model that plays replies from a list, the last one for ever, and keeps the requests. */
export function scripted(
  replies: (ModelReply | ((request: ModelRequest) => ModelReply | Promise<ModelReply>))[],
): ChatModel & { requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  return {
    name: "scripted",
    contextWindowTokens: 1000,
    requests,
    async complete(asked) {
      requests.push(asked);
      const reply = replies[Math.min(requests.length, replies.length) - 1];
      if (reply === undefined) throw new Error("the script is empty");
      return typeof reply === "function" ? reply(asked) : reply;
    },
    close: async () => undefined,
  };
}
