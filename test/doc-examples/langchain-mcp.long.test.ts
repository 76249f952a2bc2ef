import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { lastToolResult, startModel } from "./model-server.ts";
import { type Place, createPlace } from "./place.ts";
import { memslotOnPath } from "./memslot-command.ts";

const files = {
  "MEMORY.md": "# Memory\n",
  "memory/2026-03-02.md": "# 2026-03-02\n\n- The staging database listens on port 5544.\n",
};
const question = "Which port does the staging database listen on?";
const search = { name: "memory_search", arguments: '{"query":"staging database port"}' };

async function ask(place: Place, env: Record<string, string>): ReturnType<Place["run"]> {
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

    const { stdout, stderr, exitCode } = await ask(place, model.env);

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

    const { stdout, stderr, exitCode } = await ask(place, model.env);

    expect({ exitCode, stdout, stderr }).toMatchObject({ exitCode: 0, stdout: "Noted.\n" });
    expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain("PATH_NOT_ALLOWED");
    expect(readFileSync(path.join(place.notes, "MEMORY.md"), "utf8")).toContain(text);
  });

  test("ends with an answer where a model would call tools for ever", async () => {
    const place = createPlace(files);
    const model = await startModel((request) => (request.tool_choice === "none" ? { text: "I give up." } : search));

    const { stdout, stderr, exitCode } = await ask(place, model.env);

    expect({ exitCode, stdout, stderr }).toMatchObject({ exitCode: 0, stdout: "I give up.\n" });
    expect(model.requests).toHaveLength(8);
  });
});
