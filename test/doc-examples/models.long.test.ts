import { readFileSync } from "node:fs";
import path from "node:path";
import { formatCitation } from "@memslot/agent-kit";
import { describe, expect, test } from "vitest";
import { type ChatRequest, createPlace, lastToolResult, memslotOnPath, startModel } from "../support/doc-examples.ts";

const files = {
  "MEMORY.md": "# Memory\n\n- The user writes short answers.\n",
  "memory/2026-03-02.md": "# 2026-03-02\n\n- The staging database listens on port 5544.\n",
};
const question = "Which port does the staging database listen on?";
const search = { name: "memory_search", arguments: '{"query":"staging database port"}' };
const note = { text: "The user's cat is called Juniper.", kind: "longterm" };

/** Quotes the best result, so that the answer proves where it came from. */
function quote(request: ChatRequest): string {
  const { results } = lastToolResult(request) as {
    results: (Parameters<typeof formatCitation>[0] & { snippet: string })[];
  };
  const [best] = results;
  return `${/port \d+/u.exec(best?.snippet ?? "")?.[0]}, ${best && formatCitation(best)}`;
}

describe.each(["openai-tool-loop.ts", "vercel-ai-sdk.ts", "openai-agents-sdk.ts"])("%s", (program) => {
  test("returns wrong arguments to the model, which then appends a note, searches, and answers from the note", async () => {
    const place = createPlace(files);
    const calls = [
      { name: "memory_get", arguments: '{"from":3}' },
      { name: "memory_append", arguments: JSON.stringify(note) },
      search,
    ];
    const model = await startModel((request, index) => calls[index] ?? { text: quote(request) });

    const { stdout, exitCode, stderr } = await place.run(program, [place.notes, question], model.env);

    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    expect(stdout).toBe("port 5544, memory/2026-03-02.md#L1-L3\n");
    expect(new Set(model.keys)).toEqual(new Set(["Bearer sk-test"]));
    const [first, second, third] = model.requests;
    expect(first?.model).toBe("scripted");
    expect(first?.messages.map(({ role }) => role)).toEqual(["system", "user"]);
    expect(first?.messages[0]?.content).toContain("## Memory Recall");
    expect(first?.messages[0]?.content).toContain("The user writes short answers.");
    expect(first?.messages[1]?.content).toContain(question);
    const names = first?.tools?.map((tool) => tool.function.name);
    expect(names).toEqual(["memory_search", "memory_get", "memory_append"]);
    expect(first?.tools?.[0]?.function.parameters).toMatchObject({ required: ["query"] });
    expect(lastToolResult(second as ChatRequest)).toMatchObject({ code: "INVALID_ARGUMENT", field: "path" });
    const appended = lastToolResult(third as ChatRequest);
    expect([appended?.["state"], appended?.["citation"]]).toEqual([
      "appended",
      expect.stringMatching(/^MEMORY\.md#L/u),
    ]);
    const text = readFileSync(path.join(place.notes, "MEMORY.md"), "utf8");
    expect(text.startsWith(files["MEMORY.md"])).toBe(true);
    expect(text).toContain(note.text);
  });

  test("ends with an answer where a model would call tools for ever", async () => {
    const place = createPlace(files);
    const model = await startModel((request) => (request.tool_choice === "none" ? { text: "I give up." } : search));
    const { stdout, exitCode } = await place.run(program, [place.notes, question], model.env);
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: "I give up.\n" });
    expect(model.requests.length).toBeLessThanOrEqual(9);
  });
});

test("openai-tool-loop.ts gives broken JSON back to the model as an error of the tool", async () => {
  const place = createPlace(files);
  const model = await startModel((_request, index) =>
    index === 0 ? { name: "memory_search", arguments: '{"query": "stag' } : { text: "Once more, please." },
  );
  const { stdout } = await place.run("openai-tool-loop.ts", [place.notes, question], model.env);
  expect(stdout).toBe("Once more, please.\n");
  expect(lastToolResult(model.requests[1] as ChatRequest)).toMatchObject({ status: "error", field: "arguments" });
});

// A command on the path is a script of the shell here.
test.skipIf(process.platform === "win32")(
  "langchain-mcp.ts starts memslot mcp: the model sees its errors, appends a note, searches, and has to answer in the end",
  async () => {
    const place = createPlace(files);
    const calls = [
      { name: "memory_get", arguments: '{"path":"../secret.md"}' },
      { name: "memory_append", arguments: JSON.stringify(note) },
    ];
    const model = await startModel((request, index) => {
      if (request.tool_choice !== "none") return calls[index] ?? search;
      return { text: `It is ${/port \d+/u.exec(JSON.stringify(request.messages))?.[0]}.` };
    });
    const env = { ...model.env, PATH: memslotOnPath(place) };

    const { stdout, stderr, exitCode } = await place.run("langchain-mcp.ts", [place.notes, question], env);

    expect({ exitCode, stdout, stderr }).toMatchObject({ exitCode: 0, stdout: "It is port 5544.\n" });
    expect(model.requests).toHaveLength(8);
    const [first, second] = model.requests;
    expect(first?.messages.map(({ role }) => role)).toEqual(["system", "user"]);
    // The words of the server, not only those of the program.
    expect(JSON.stringify(first?.messages[0]?.content)).toContain("memory_search");
    expect(first?.messages[1]?.content).toBe(question);
    const names = first?.tools?.map((tool) => tool.function.name);
    expect(names).toEqual(expect.arrayContaining(["memory_search", "memory_get", "memory_append"]));
    expect(JSON.stringify(second?.messages.at(-1))).toContain("PATH_NOT_ALLOWED");
    expect(readFileSync(path.join(place.notes, "MEMORY.md"), "utf8")).toContain(note.text);
  },
);
