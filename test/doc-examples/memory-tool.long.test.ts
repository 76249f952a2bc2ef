import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { startFakeChatServer } from "@memslot/fakes/chat";
import { afterwards } from "@memslot/test-tools/files";
import { describe, expect, test } from "vitest";
import { createPlace } from "../support/doc-examples.ts";

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

/** A server that speaks the Messages API. It ends with the test. */
async function startModel(): Promise<{ env: Record<string, string>; requests: MessagesRequest[] }> {
  const requests: MessagesRequest[] = [];
  const server = await startFakeChatServer((request, index) => {
    requests.push(request.body as unknown as MessagesRequest);
    const input = script[index]?.[0];
    const content = input
      ? { type: "tool_use", id: `toolu_${index}`, name: "memory", input }
      : { type: "text", text: "It is noted." };
    const message = { id: `msg_${index}`, type: "message", role: "assistant", model: "scripted", content: [content] };
    const stopped = { stop_reason: input ? "tool_use" : "end_turn", stop_sequence: null };
    return { body: { ...message, ...stopped, usage: { input_tokens: 1, output_tokens: 1 } } };
  });
  afterwards(() => server.close());
  const url = new URL(server.baseUrl).origin;
  return { env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "sk-test", MODEL: "scripted" }, requests };
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
