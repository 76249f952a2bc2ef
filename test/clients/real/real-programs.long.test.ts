import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type FakeModel, type ModelRequest, type Turn, startFakeModel } from "@memslot/fakes/model-apis";
import { eventually } from "@memslot/test-tools/wait";
import { tempFolder } from "@memslot/test-tools/files";
import { ownTexts } from "@memslot/indexing/host";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type RealProgram, type Step, createProgram, installedProgram, programs } from "./real-program.ts";

// A start of a program and of its hooks takes seconds.
vi.setConfig({ testTimeout: 400_000, hookTimeout: 400_000 });

const search = (query: string) => ({ name: "memory_search", input: { query } });
const typed = {
  harbour: "Which harbour code does the Lisbon marina have?",
  walrus: "The mascot of our team is the walrus Waldemar.",
  full: "Which port does the staging database listen on?",
};
const said = {
  harbour: "It is the first answer, about the harbour.",
  walrus: "Noted: the walrus Waldemar is the mascot.",
  full: "It is the third answer, about the port.",
};

/** Everything that a model was sent. */
const sent = ({ system, turns }: ModelRequest): string => [system, ...turns.map(({ text }) => text)].join("\n");
const times = (text: string, part: string): number => text.split(part).length - 1;
/** What memslot writes for models, in no message of a user. */
const ownWords = [...Object.values(ownTexts), ">>> ", "<<< ", "memslot connect"];

for (const row of programs) {
  const executable = await installedProgram(row);

  describe.skipIf(executable === undefined)(`${row.name} ${row.version}`, () => {
    const home = tempFolder();
    let model: FakeModel;
    let program: RealProgram;
    let first: ModelRequest[];
    const isLeft = (step: Step): boolean => row.not[step] !== undefined;
    /** The requests of the model that answers the user. */
    const main = (requests: readonly ModelRequest[]): ModelRequest[] =>
      requests.filter(({ tools }) => tools.length > 0);
    /** Requests of models that write titles. A model that decides something for Gemini gets the conversation from it. */
    const others = (): ModelRequest[] => first.filter(({ tools, decides }) => tools.length === 0 && !decides);
    const users = (): string[] => program.journal().flatMap(({ role, text }) => (role === "user" ? text : []));

    beforeAll(async () => {
      model = await startFakeModel();
      program = createProgram(executable ?? "", row, home, model);
    });

    afterAll(() => model.close());

    test.skipIf(isLeft("connect"))("connect", async () => {
      const { exitCode, stdout, stderr } = await program.memslot(
        "connect",
        row.id,
        "--workspace",
        path.join(program.home, "notes"),
        "--yes",
      );
      expect(exitCode, stdout + stderr).toBe(0);
      await program.memslot("memory", "index");
      const calls = [search("staging port"), ...(row.subagent ? [row.subagent] : [])];
      first = await program.ask(typed.harbour, { calls, say: said.harbour });
      expect(main(first).length).toBeGreaterThan(1);
    });

    test.skipIf(isLeft("start"))("start", () => {
      const [request] = main(first);
      expect(times(sent(request as ModelRequest), ownTexts.notesHeading)).toBe(1);
      expect(sent(request as ModelRequest)).toContain("listens on port 5544");
      for (const other of others()) expect(sent(other)).not.toContain("5544");
    });

    test.skipIf(isLeft("prompt"))("prompt", () => {
      const [request] = main(first);
      expect(times(sent(request as ModelRequest), "HX-19")).toBe(1);
      for (const other of others()) expect(sent(other)).not.toContain("HX-19");
    });

    test.skipIf(isLeft("tool"))("tool", () => {
      const [request, ...later] = main(first);
      expect(request?.tools.filter((name) => name.endsWith("memory_search"))).toHaveLength(1);
      const answers = later.flatMap(({ turns }) => turns.filter(({ role }) => role === "tool"));
      expect(answers.map(({ text }) => text).join("\n")).toContain("port 5544");
    });

    test.skipIf(isLeft("journal"))("journal", async () => {
      await eventually(() => users().length > 0, "the journal holds the prompt");
      expect(users()).toEqual([typed.harbour]);
      expect(program.journal()).toContainEqual({ role: "assistant", text: said.harbour });
    });

    test.skipIf(isLeft("subagent"))("subagent", () => {
      const isAsked = ({ role, text }: Turn): boolean => role === "user" && text.includes("Wilma");
      const requests = first.filter(({ turns }) => turns.some(isAsked));
      expect(requests.length).toBeGreaterThan(0);
      for (const request of requests) expect(sent(request)).not.toMatch(/5544|HX-19/u);
      expect(JSON.stringify(program.journal())).not.toContain("Wilma");
    });

    test.skipIf(isLeft("resume"))("resume", async () => {
      if (row.id === "claude-code") withoutAlwaysLoad(path.join(program.home, ".claude.json"));
      const requests = await program.ask(typed.walrus, { say: said.walrus }, "resume");
      const request = main(requests).at(-1) as ModelRequest;
      expect(sent(request)).toContain(typed.harbour);
      expect(request.tools.filter((name) => name.endsWith("memory_search"))).toHaveLength(1);
      expect(times(sent(request), ownTexts.notesHeading)).toBe(1);
      await eventually(() => users().length > 1, "the journal holds the second prompt");
      expect(users().toSorted()).toEqual([typed.harbour, typed.walrus].toSorted());
    });

    test.skipIf(isLeft("end"))("end", async () => {
      await eventually(() => program.dailyLog().includes(said.walrus), "the digest is written");
      expect(program.dailyLog()).toContain(`Digest of a conversation (${row.id}, project app, session`);
    });

    test.skipIf(isLeft("compaction"))("compaction", async () => {
      const { prompt, tokens = 1000 } = row.compact;
      const script = { calls: prompt ? [] : [search("staging port")], say: said.full, tokens };
      const compacting = await program.ask(prompt ?? typed.full, script, "resume");
      await eventually(() => program.dailyLog().includes("Waldemar"), "the digest is written");
      const after = await program.ask("What else?", { say: "Nothing else." }, "resume");
      const told = [...compacting, ...after].map(sent).filter((text) => text.includes(ownTexts.dropped));
      expect(told.length).toBeGreaterThan(0);
    });

    test("own text is in no message of the user", () => {
      const captured = users().filter((text) => ownWords.some((words) => text.includes(words)));
      expect(captured).toEqual([]);
      for (const words of ownWords) expect(program.dailyLog()).not.toContain(words);
    });

    test.skipIf(isLeft("source"))("source", async () => {
      // A session without an end counts as running, and is left out, until it has rested.
      if (isLeft("end")) rmSync(path.join(program.home, ".memslot/hooks/running"), { recursive: true, force: true });
      const added = await program.memslot("sources", "add", row.id, "--scope", "all", "--yes");
      expect(added.exitCode, added.stdout + added.stderr).toBe(0);
      const { stdout, stderr } = await program.memslot(
        "memory",
        "search",
        `walrus Waldemar source:${row.id}`,
        "--json",
      );
      const { results } = JSON.parse(stdout) as { results: { source: string; snippet: string }[] };
      expect(
        results.map(({ source }) => source),
        stdout + stderr,
      ).toContain(row.id);
      expect(JSON.stringify(results)).toContain("Waldemar");
      expect(stdout).not.toContain("Wilma");
      for (const query of ["From the user's notes, found by this prompt", "Notes at the start of this session"]) {
        const found = await program.memslot("memory", "search", `${query} source:${row.id}`, "--json");
        for (const words of ownWords) expect(found.stdout).not.toContain(JSON.stringify(words).slice(1, -1));
      }
    });

    test.skipIf(isLeft("remove"))("remove", async () => {
      const { exitCode, stdout, stderr } = await program.memslot("connect", row.id, "--remove", "--yes");
      expect(exitCode, stdout + stderr).toBe(0);
      for (const [file, text] of Object.entries(row.files))
        expect(program.read(file), file).toBe(text.replaceAll("{url}", model.url));
      const entry = path.join(program.home, ".claude.json");
      if (existsSync(entry)) expect(program.read(".claude.json")).not.toContain("cli.ts");
    });
  });
}

/** Then the marks in the list of tools alone keep them visible, as in an entry that the user wrote. */
function withoutAlwaysLoad(file: string): void {
  const settings = JSON.parse(readFileSync(file, "utf8")) as { mcpServers: { memslot: { alwaysLoad?: boolean } } };
  expect(settings.mcpServers.memslot.alwaysLoad).toBe(true);
  delete settings.mcpServers.memslot.alwaysLoad;
  writeFileSync(file, JSON.stringify(settings));
}
