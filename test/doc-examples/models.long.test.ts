import { readFileSync } from "node:fs";
import path from "node:path";
import { formatCitation } from "@memslot/agent-kit";
import { describe, expect, test } from "vitest";
import {
  type ChatRequest,
  createPlace,
  lastToolResult,
  memslotOnPath,
  type Place,
  startModel,
} from "../support/doc-examples.ts";

const files = {
  "MEMORY.md": "# Memory\n\n- The user writes short answers.\n",
  "memory/2026-03-02.md": "# 2026-03-02\n\n- The staging database listens on port 5544.\n",
};
const question = "Which port does the staging database listen on?";
const search = { name: "memory_search", arguments: '{"query":"staging database port"}' };

/** Says what it was given, so that the answer proves where it came from. */
function quote(request: ChatRequest): string {
  const { results } = lastToolResult(request) as {
    results: (Parameters<typeof formatCitation>[0] & { snippet: string })[];
  };
  const [best] = results;
  return `${/port \d+/u.exec(best?.snippet ?? "")?.[0]}, ${best && formatCitation(best)}`;
}

describe.each(["openai-tool-loop.ts", "vercel-ai-sdk.ts", "openai-agents-sdk.ts"])("%s", (program) => {
  test("lets the model search, and prints the answer that it made of the note", async () => {
    const place = createPlace(files);
    const model = await startModel((request) => (lastToolResult(request) ? { text: quote(request) } : search));

    const { stdout, exitCode, stderr } = await place.run(program, [place.notes, question], model.env);

    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    expect(stdout).toBe("port 5544, memory/2026-03-02.md#L1-L3\n");
    expect(model.keys).toEqual(["Bearer sk-test", "Bearer sk-test"]);
    const [first] = model.requests;
    expect(first?.model).toBe("scripted");
    expect(first?.messages.map(({ role }) => role)).toEqual(["system", "user"]);
    expect(first?.messages[0]?.content).toContain("## Memory Recall");
    expect(first?.messages[0]?.content).toContain("The user writes short answers.");
    expect(first?.messages[1]?.content).toContain(question);
    const names = first?.tools?.map((tool) => tool.function.name);
    expect(names).toEqual(["memory_search", "memory_get", "memory_append"]);
    expect(first?.tools?.[0]?.function.parameters).toMatchObject({ required: ["query"] });
  });

  test("gives what was wrong with the arguments back to the model, which then asks as it should", async () => {
    const place = createPlace(files);
    const model = await startModel((request, index) => {
      if (index === 0) return { name: "memory_get", arguments: '{"from":3}' };
      return index === 1 ? search : { text: quote(request) };
    });

    const { stdout, exitCode } = await place.run(program, [place.notes, question], model.env);

    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: "port 5544, memory/2026-03-02.md#L1-L3\n" });
    expect(lastToolResult(model.requests[1] as ChatRequest)).toMatchObject({ code: "INVALID_ARGUMENT", field: "path" });
  });

  test("lets the model note what the user asks it to remember", async () => {
    const place = createPlace(files);
    const note = { text: "The user's cat is called Juniper.", kind: "longterm" };
    const model = await startModel((request) => {
      const result = lastToolResult(request);
      return result === undefined
        ? { name: "memory_append", arguments: JSON.stringify(note) }
        : { text: `${String(result["state"])} at ${String(result["citation"])}` };
    });

    const { stdout } = await place.run(program, [place.notes, "Remember that my cat is called Juniper."], model.env);

    expect(stdout).toMatch(/^appended at MEMORY\.md#L\d+-L\d+\n$/u);
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

async function askLangchain(place: Place, env: Record<string, string>): ReturnType<Place["run"]> {
  return await place.run("langchain-mcp.ts", [place.notes, question], { ...env, PATH: memslotOnPath(place) });
}

// A command on the path is a script of the shell here.
describe.skipIf(process.platform === "win32")("langchain-mcp.ts", () => {
  test("starts memslot mcp, and prints the answer that the model made of a note", async () => {
    const place = createPlace(files);
    const model = await startModel((request) => {
      const result = lastToolResult(request);
      return result ? { text: `It is ${/port \d+/u.exec(JSON.stringify(result))?.[0]}.` } : search;
    });

    const { stdout, stderr, exitCode } = await askLangchain(place, model.env);

    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    expect(stdout).toBe("It is port 5544.\n");
    expect(model.keys).toEqual(["Bearer sk-test", "Bearer sk-test"]);
    const [first] = model.requests;
    expect(first?.messages.map(({ role }) => role)).toEqual(["system", "user"]);
    // The words of the server, not only those of the program.
    expect(JSON.stringify(first?.messages[0]?.content)).toContain("memory_search");
    expect(first?.messages[1]?.content).toBe(question);
    expect(first?.tools?.map((tool) => tool.function.name)).toEqual(
      expect.arrayContaining(["memory_search", "memory_get", "memory_append"]),
    );
  });

  test("lets the model note something, and tells it what was wrong with its arguments", async () => {
    const place = createPlace(files);
    const text = "The user's cat is called Juniper.";
    const model = await startModel((_request, index) => {
      if (index === 0) return { name: "memory_get", arguments: '{"path":"../secret.md"}' };
      if (index > 1) return { text: "Noted." };
      return { name: "memory_append", arguments: JSON.stringify({ text, kind: "longterm" }) };
    });

    const { stdout, stderr, exitCode } = await askLangchain(place, model.env);

    expect({ exitCode, stdout, stderr }).toMatchObject({ exitCode: 0, stdout: "Noted.\n" });
    expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain("PATH_NOT_ALLOWED");
    expect(readFileSync(path.join(place.notes, "MEMORY.md"), "utf8")).toContain(text);
  });

  test("ends with an answer where a model would call tools for ever", async () => {
    const place = createPlace(files);
    const model = await startModel((request) => (request.tool_choice === "none" ? { text: "I give up." } : search));

    const { stdout, stderr, exitCode } = await askLangchain(place, model.env);

    expect({ exitCode, stdout, stderr }).toMatchObject({ exitCode: 0, stdout: "I give up.\n" });
    expect(model.requests).toHaveLength(8);
  });
});
