import { mkdir, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { createSandbox } from "./run-memslot.ts";

const note =
  "# Infrastructure\n\n## Mail\n\nThe mail server moved to Hetzner on 2026-03-14.\nIts id is QX-7919.\n\n## Coffee\n\nAnna likes espresso.\n";

describe("memslot memory search", () => {
  test("needs no config file: it indexes the folder and gives score, path:line and the lines", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("memory/2026-03-14.md", note);
    const { exitCode, stdout, stderr } = await sandbox.runHere(["memory", "search", "where is the mail server"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^[01]\.\d{3} .*2026-03-14\.md:5\n/u);
    expect(stdout).toContain("The mail server moved to Hetzner");
    expect(stderr).toContain("indexed 1 file");
  });

  test("finds what was written after the last search, and says nothing more on stderr but how far it is", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "# Memory\n\nThe harbour is Kiel.\n");
    await sandbox.runHere(["memory", "search", "harbour"]);
    await sandbox.write("memory/new.md", "The lighthouse keeper is called Ole.\n");
    const { stdout, stderr } = await sandbox.runHere(["memory", "search", "lighthouse keeper"]);
    expect(stdout).toContain("memory/new.md:1");
    // How far it is is told after a second, on a machine that is as slow.
    expect(stderr.replace(/^indexing: .*\n/gmu, "")).toBe("");
  });

  test("takes a query of several words without quotes, and --query before words", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
    expect((await sandbox.runHere(["memory", "search", "anna", "espresso"])).stdout).toContain("MEMORY.md:1");
    expect((await sandbox.runHere(["memory", "search", "zebra", "--query", "espresso"])).stdout).toContain(
      "MEMORY.md:1",
    );
  });

  test("gives JSON with state and mode beside the results", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("memory/2026-03-14.md", note);
    const { exitCode, stdout } = await sandbox.runHere(["memory", "search", "QX-7919", "--json"]);
    expect(exitCode).toBe(0);
    const answer = JSON.parse(stdout);
    expect(answer).toMatchObject({ agentId: "main", state: "ok", mode: "keyword", backend: "memory-core" });
    expect(answer).not.toHaveProperty("stale");
    expect(answer.results[0]).toMatchObject({
      path: "memory/2026-03-14.md",
      source: "memory",
      startLine: expect.any(Number),
      endLine: expect.any(Number),
    });
    expect(answer.results[0].score).toBeGreaterThan(0);
  });

  test("tells how a word was read that stands nowhere, once, and has it in the JSON", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "We moved Postgres to the new machine.\n");
    const human = await sandbox.runHere(["memory", "search", "postgress"]);
    expect(human.stdout).toContain("MEMORY.md:1");
    expect(human.stderr.match(/"postgress" was read as Postgres\./gu)).toHaveLength(1);
    const { stdout } = await sandbox.runHere(["memory", "search", "postgress", "--json"]);
    expect(JSON.parse(stdout).readings).toEqual([{ word: "postgress", as: "Postgres" }]);
    expect(JSON.parse((await sandbox.runHere(["memory", "search", "postgres", "--json"])).stdout)).not.toHaveProperty(
      "readings",
    );
  });

  test("says where a name of the question stands in none of the results, and shows them all the same", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "- Samir has shoe size 44.\n");
    const asked = await sandbox.runHere(["memory", "search", "What is Gustav's shoe size?"]);
    expect(asked.stdout).toContain("shoe size 44");
    expect(asked.stderr).toContain('None of these results holds "Gustav".');
    const known = await sandbox.runHere(["memory", "search", "What is Samir's shoe size?"]);
    expect(known.stderr).not.toContain("None of these");
  });

  test("says why there are no results and ends with 0", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
    const human = await sandbox.runHere(["memory", "search", "zeppelin"]);
    expect(human.exitCode).toBe(0);
    expect(human.stdout).toMatch(/^No matches\. \S/u);
    const json = await sandbox.runHere(["memory", "search", "zeppelin", "--json"]);
    expect(json.exitCode).toBe(0);
    expect(JSON.parse(json.stdout)).toMatchObject({ results: [], state: "ok", reason: expect.stringMatching(/\S/u) });
  });

  test("says why there are no results in a folder without notes", async () => {
    const sandbox = await createSandbox();
    const { exitCode, stdout } = await sandbox.runHere(["memory", "search", "anything"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^No matches\. \S/u);
  });

  test("obeys --max-results and --source", async () => {
    const sandbox = await createSandbox();
    for (let day = 10; day < 20; day++)
      await sandbox.write(`memory/2026-03-${day}.md`, `# Day ${day}\n\nThe ferry left late.\n`);
    const search = async (...args: string[]) =>
      JSON.parse((await sandbox.runHere(["memory", "search", "ferry", "--json", ...args])).stdout).results;
    expect(await search("--max-results", "3")).toHaveLength(3);
    expect(await search("--max-results", "200")).toHaveLength(10);
    expect(await search("--source", "memory", "--max-results", "2")).toHaveLength(2);
  });

  test("--min-score does what its help says", async () => {
    const sandbox = await createSandbox();
    expect((await sandbox.run(["memory", "search", "--help"])).stdout.replaceAll(/\s+/gu, " ")).toContain(
      "print no result that scores less, 0 to 1, and say how many there were",
    );
    await sandbox.write(
      "memory/both.md",
      `The ferry leaves the harbour late. ${"The weather was fine again. ".repeat(9)}\n`,
    );
    await sandbox.write("memory/one.md", `The ferry was late. ${"Nothing else is to be said of it. ".repeat(9)}\n`);
    const search = async (...args: string[]): Promise<string[]> => {
      const { stdout } = await sandbox.runHere(["memory", "search", "ferry harbour", "--json", ...args]);
      return (JSON.parse(stdout).results as { path: string }[]).map((result) => result.path);
    };
    expect(await search()).toEqual(["memory/both.md", "memory/one.md"]);
    expect(await search("--min-score", "0")).toEqual(["memory/both.md", "memory/one.md"]);
    const scores = JSON.parse(
      (await sandbox.runHere(["memory", "search", "ferry harbour", "--json"])).stdout,
    ).results.map(({ score }: { score: number }) => score);
    const between = String((scores[0] + scores[1]) / 2);
    expect(await search("--min-score", between)).toEqual(["memory/both.md"]);
    expect(await search("--min-score", String(scores[1]))).toEqual(["memory/both.md", "memory/one.md"]);
    const cut = await sandbox.runHere(["memory", "search", "ferry harbour", "--explain", "--min-score", between]);
    expect(cut.stderr).toContain("1 result was left out by --min-score.");
    expect(cut.stdout).toMatch(/Left out: +1 by min score/u);
    expect(cut.stdout).not.toContain("one.md");
    // A note that holds every word is what a memory always returns; nobody who asks for a score gets it under that.
    const none = await sandbox.runHere(["memory", "search", "ferry harbour", "--min-score", "1"]);
    expect(none.stdout).toMatch(/^No matches\. All 2 results score less than 1\./u);
    const json = await sandbox.runHere(["memory", "search", "ferry harbour", "--min-score", "1", "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({ results: [], underMinScore: 2, state: "ok" });
  });

  test("--since, --until, --order and the filters of a query do what the help says, and the answer says so", async () => {
    const sandbox = await createSandbox();
    for (const day of ["2024-03-05", "2025-03-05", "2026-03-05"])
      await sandbox.write(`memory/${day}.md`, `The ferry left late.\n`);
    await sandbox.write("memory/ferry.md", "A ferry is a boat. #boat\n");
    const paths = async (...args: string[]): Promise<string[]> => {
      const { stdout } = await sandbox.runHere(["memory", "search", "--json", ...args]);
      return (JSON.parse(stdout).results as { path: string }[]).map(({ path }) => path.slice("memory/".length, -3));
    };
    expect(await paths("ferry", "--since", "2025", "--order", "newest")).toEqual(["2026-03-05", "2025-03-05"]);
    expect(await paths("--since", "2025", "--order", "newest")).toEqual(["2026-03-05", "2025-03-05"]);
    expect(await paths("ferry", "--until", "2025-03-05", "--order", "oldest")).toEqual(["2024-03-05", "2025-03-05"]);
    expect(await paths("tag:boat ferry")).toEqual(["ferry"]);
    expect(await paths('"left late" before:2025')).toEqual(["2024-03-05"]);
    expect(await paths("--query", "-late ferry")).toEqual(["ferry"]);
    expect(await paths("after:2025")).toEqual(["2026-03-05", "2025-03-05"]);
    const human = await sandbox.runHere([
      "memory",
      "search",
      "ferry -boat after:never",
      "--since",
      "2026",
      "--explain",
    ]);
    expect(human.stderr).toMatch(/Only since 2026-01-01; 1 note has no day and was left out\./u);
    expect(human.stderr).toMatch(/after:never was taken for words: it is no time such as/u);
    expect(human.stdout).toMatch(/Read as: +words "ferry after:never"; without "boat"; since 2026-01-01; /u);
    const json = JSON.parse((await sandbox.runHere(["memory", "search", "ferry -boat", "--json"])).stdout);
    expect(json.filters).toEqual({ words: "ferry", excluded: ["boat"], order: "relevance" });
    const wrong = await sandbox.runHere(["memory", "search", "ferry", "--until", "yesteryear"]);
    expect([wrong.exitCode, wrong.stderr]).toEqual([2, expect.stringMatching(/until must be .*"last week"/u)]);
    expect((await sandbox.runHere(["memory", "search", "ferry", "--order", "best"])).exitCode).toBe(2);
    const { stdout: help } = await sandbox.run(["memory", "search", "--help"]);
    for (const word of [
      "--since",
      "--until",
      "--order",
      '"heat pump"',
      "-word",
      "path:",
      "tag:",
      "source:",
      "after:",
      "before:",
    ])
      expect(help).toContain(word);
  });

  test("counts a source that there is not as a usage error, and names those there are", async () => {
    const sandbox = await createSandbox();
    const { exitCode, stderr } = await sandbox.runHere(["memory", "search", "ferry", "--source", "memroy"]);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/memory.*"memroy"/u);
  });

  test("--explain prints what each leg found and what was left out", async () => {
    const sandbox = await createSandbox();
    for (let day = 10; day < 20; day++)
      await sandbox.write(`memory/2026-03-${day}.md`, `# Day ${day}\n\nThe ferry left late.\n`);
    const human = await sandbox.runHere(["memory", "search", "ferry", "--explain", "--max-results", "4"]);
    expect(human.stdout).toMatch(/Keyword leg: +10 candidates, 4 in the answer/u);
    expect(human.stdout).toMatch(/Left out: +0 by min score, 0 by source, 6 by the limit/u);
    const json = await sandbox.runHere(["memory", "search", "ferry", "--explain", "--json"]);
    expect(JSON.parse(json.stdout).report).toMatchObject({
      legs: { keyword: { candidates: 10 } },
      dropped: { minScore: 0 },
    });
  });

  test("marks the matched words only where colours are wanted", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "We decided to take the ferry.\n");
    const escape = "\u001B[";
    const plain = await sandbox.runHere(["memory", "search", "decide"]);
    expect(plain.stdout).not.toContain(escape);
    const forced = await sandbox.runHere(["memory", "search", "decide"], { env: { FORCE_COLOR: "1" }, apart: true });
    expect(forced.stdout).toContain(`We ${escape}1mdecided${escape}22m to take the ferry.`);
    const never = await sandbox.runHere(["memory", "search", "decide"], { env: { NO_COLOR: "1" }, apart: true });
    expect(never.stdout).toBe(plain.stdout);
  });

  test("obeys --color, before and after the command, whatever the environment says", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "We decided to take the ferry.\n");
    const plain = (await sandbox.runHere(["memory", "search", "decide"])).stdout;
    for (const args of [
      ["memory", "search", "decide", "--color", "always"],
      ["--color=always", "memory", "search", "decide"],
    ])
      expect((await sandbox.runHere(args, { env: { NO_COLOR: "1" } })).stdout).toContain("\u001B[1mdecided\u001B[22m");
    const never = ["memory", "search", "decide", "--color", "never"];
    expect((await sandbox.runHere(never, { env: { FORCE_COLOR: "1" } })).stdout).toBe(plain);
    expect((await sandbox.runHere([...never.slice(0, -1), "sometimes"])).exitCode).toBe(2);
  });

  test("takes any query, also one that looks like search syntax or an option", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
    for (const query of ['"', "a AND (b", "NEAR(x y)", "*", "col:val", "🙂", " "]) {
      const { exitCode, stderr } = await sandbox.runHere(["memory", "search", query]);
      expect({ query, exitCode, stderr: stderr.includes("rror") }).toEqual({ query, exitCode: 0, stderr: false });
    }
    expect((await sandbox.runHere(["memory", "search", "--query", "--espresso"])).stdout).toContain("MEMORY.md");
    expect(
      (await sandbox.run(["memory", "search", "--workspace", sandbox.workspace, "--", "--espresso"])).stdout,
    ).toContain("MEMORY.md");
  });

  test("shares no index between two workspaces", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
    const other = path.join(sandbox.cwd, "other");
    await mkdir(other);
    await writeFile(path.join(other, "MEMORY.md"), "Boris likes rooibos.\n");
    await sandbox.runHere(["memory", "search", "espresso"]);
    expect((await sandbox.run(["memory", "search", "rooibos", "--workspace", other])).stdout).toContain("Boris");
    expect((await sandbox.run(["memory", "search", "espresso", "--workspace", other])).stdout).toMatch(
      /^No matches\./u,
    );
    expect((await sandbox.runHere(["memory", "search", "espresso"])).stdout).toContain("Anna");
  });

  test("without a query is a usage error", async () => {
    const sandbox = await createSandbox();
    const { exitCode, stdout, stderr } = await sandbox.runHere(["memory", "search"]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toContain("what should be searched");
  });

  test("names a missing workspace and ends with 1, in JSON too", async () => {
    const sandbox = await createSandbox();
    const missing = path.join(sandbox.cwd, "nowhere");
    const human = await sandbox.run(["memory", "search", "x", "--workspace", missing]);
    expect({ exitCode: human.exitCode, stdout: human.stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(human.stderr).toContain(missing);
    const json = await sandbox.run(["memory", "search", "x", "--workspace", missing, "--json"]);
    expect(json.exitCode).toBe(1);
    expect(JSON.parse(json.stdout)).toEqual({
      ok: false,
      error: { type: "cli_error", code: "WORKSPACE", message: expect.stringContaining(missing) },
      agentId: "main",
    });
  });

  test("says in one line that files failed, and still answers with 0", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
    await sandbox.write("memory/folder.md", null);
    await sandbox.writeLost();
    const { exitCode, stdout, stderr } = await sandbox.runHere(["memory", "search", "espresso"]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("MEMORY.md:1");
    expect(stderr).toContain("could not be indexed");
  });

  test("does not follow a symlink out of the workspace", async () => {
    const sandbox = await createSandbox();
    const secret = path.join(sandbox.cwd, "secret.md");
    await writeFile(secret, "The password is hunter2.\n");
    await sandbox.write("memory/fine.md", "Nothing here.\n");
    await symlink(secret, path.join(sandbox.workspace, "memory", "link.md"));
    expect((await sandbox.runHere(["memory", "search", "hunter2"])).stdout).toMatch(/^No matches\./u);
  });
});
