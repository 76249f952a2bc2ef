import { existsSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { createPlace, serve } from "../support/doc-examples.ts";

interface Block {
  type: string;
  content?: string | { text?: string; value?: string }[];
  is_error?: boolean;
}

interface MessagesRequest {
  messages: { role: string; content: string | Block[] }[];
  tools?: { type?: string; name: string }[];
}

/** The calls of the script in place of a model, one after the other, and the result of each. */
const script = JSON.parse(readFileSync(path.join(import.meta.dirname, "../data/memory-tool.json"), "utf8")) as [
  input: object,
  result: string,
][];

/** A server on this machine that speaks the Messages API. It ends with the test. */
async function startModel(): Promise<{ env: Record<string, string>; requests: MessagesRequest[] }> {
  const requests: MessagesRequest[] = [];
  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parts: Buffer[] = [];
    for await (const part of incoming) parts.push(part);
    requests.push(JSON.parse(Buffer.concat(parts).toString("utf8")) as MessagesRequest);
    const number = requests.length;
    const input = script[number - 1]?.[0];
    const content = input
      ? [{ type: "tool_use", id: `toolu_${number}`, name: "memory", input }]
      : [{ type: "text", text: "It is noted." }];
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({
        id: `msg_${number}`,
        type: "message",
        role: "assistant",
        model: "scripted",
        content,
        stop_reason: input ? "tool_use" : "end_turn",
        stop_sequence: null,
        usage: { input_tokens: 1, output_tokens: 1 },
      }),
    );
  };
  const port = await serve(handle);
  const env = { ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`, ANTHROPIC_API_KEY: "sk-test", MODEL: "scripted" };
  return { env, requests };
}

/** What the tool answered, request by request: an SDK may send only what is new. */
function resultsOf(requests: readonly MessagesRequest[]): string[] {
  const last = requests.flatMap(({ messages }) => messages.slice(-1));
  const blocks = last.flatMap(({ content }) => (typeof content === "string" ? [] : content));
  return blocks
    .filter(({ type }) => type === "tool_result")
    .map(({ content = "", is_error: isError }) => {
      const text =
        typeof content === "string" ? content : content.map((part) => part.text ?? part.value ?? "").join("");
      return `${isError === true ? "error" : "ok"} ${text}`;
    });
}

describe.each(["anthropic-memory-tool.ts", "vercel-memory-tool.ts"])("%s", (program) => {
  test("runs every command of the memory tool over the notes, and refuses paths that lead out of them", async () => {
    const place = createPlace({ "MEMORY.md": "# Memory\n", "memory/old.md": "- Old.\n", "secret.md": "secret\n" });
    const { env, requests } = await startModel();

    const { stdout, exitCode, stderr } = await place.run(program, [place.notes, "I moved to Leiden."], env);

    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    expect(stdout).toBe("It is noted.\n");
    expect(requests[0]?.tools).toMatchObject([{ type: "memory_20250818", name: "memory" }]);
    const results = resultsOf(requests);
    expect(results).toEqual(script.map(([, result]) => expect.stringMatching(new RegExp(result, "su")) as string));
    const note = path.join(place.notes, "memory/people/anna.md");
    expect(readFileSync(note, "utf8")).toBe("Anna.\n- Lives in Leiden.\n- Likes tea.\n");
    expect(existsSync(path.join(place.notes, "memory/old.md"))).toBe(false);
    expect(results.join("\n")).not.toContain("secret\n");
  });
});
