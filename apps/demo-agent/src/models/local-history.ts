import type { MemoryTool, NewMessage } from "@memslot/agent-kit";
import type { ChatHistoryItem, ChatModelFunctions, GbnfJsonSchema } from "node-llama-cpp";
import { objectIn } from "./tool-call-fragments.ts";

/** A conversation as node-llama-cpp wants it: all that the model did between two messages of the user is one item. */
export function historyOf(system: string, messages: readonly NewMessage[]): ChatHistoryItem[] {
  const history: ChatHistoryItem[] = [{ type: "system", text: system }];
  const results = new Map<string, string>();
  for (const message of messages) if (message.role === "tool") results.set(message.toolCallId, message.text);
  const resultOf = (id: string): unknown => objectIn(results.get(id) ?? "") ?? results.get(id) ?? null;
  for (const message of messages) {
    if (message.role === "user") history.push({ type: "user", text: message.text });
    if (message.role !== "assistant") continue;
    let item = history.at(-1);
    if (item?.type !== "model") history.push((item = { type: "model", response: [] }));
    if (message.text !== "") item.response.push(message.text);
    for (const { id, name, arguments: written } of message.toolCalls ?? [])
      item.response.push({
        type: "functionCall",
        name,
        params: objectIn(written) ?? {},
        result: resultOf(id),
      });
  }
  return history;
}

/** The grammar writes every field of an object, so that one that may be left out has to allow `null`. */
export function functionsOf(tools: readonly MemoryTool[]): ChatModelFunctions {
  return Object.fromEntries(
    tools.map(({ name, description, inputSchema }) => {
      const properties = Object.entries(inputSchema.properties).map(([field, schema]) => {
        // These schemas hold nothing but types, texts and lists of values.
        const given = schema as unknown as GbnfJsonSchema;
        return [field, inputSchema.required.includes(field) ? given : { oneOf: [given, { type: "null" as const }] }];
      });
      return [name, { description, params: { type: "object", properties: Object.fromEntries(properties) } }];
    }),
  );
}
