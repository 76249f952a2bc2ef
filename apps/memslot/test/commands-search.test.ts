import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { unseenCharacter } from "@memslot/core/host";
import { expect, test } from "vitest";
import { type Sandbox, command, createSandbox } from "./run-memslot.ts";
import { transcript } from "./transcript.ts";

transcript("search/queries");
transcript("search/filters");
transcript("search/output");
transcript("search/counts", {
  steps: {
    async notes(sandbox, count) {
      for (let index = 0; index < Number(count); index++)
        await sandbox.write(`memory/${index}.md`, `Ferry number ${index}.\n`);
    },
  },
});

async function search(sandbox: Sandbox, query: string, ...args: string[]): Promise<string[]> {
  const { stdout } = await sandbox.runHere(["memory", "search", query, "--json", ...args]);
  return [...new Set((JSON.parse(stdout).results as { path: string }[]).map((result) => result.path))];
}

test("--min-score leaves out what scores less, also a note that holds every word, and says so", async () => {
  const sandbox = await createSandbox();
  const both = `The ferry leaves the harbour late. ${"The weather was fine again. ".repeat(9)}\n`;
  await sandbox.write("memory/both.md", both);
  for (const name of ["a", "b", "c"]) await sandbox.write(`memory/${name}.md`, "A day at home.\n");
  await sandbox.write("memory/one.md", `The ferry was late. ${"Nothing else is to be said of it. ".repeat(9)}\n`);
  const { stdout } = await sandbox.runHere(["memory", "search", "ferry harbour", "--json"]);
  const results = JSON.parse(stdout).results as { path: string; score: number }[];
  const [first, second] = ["both", "one"].map((name) => results.find(({ path }) => path.endsWith(`${name}.md`))?.score);
  const between = String(((first ?? 0) + (second ?? 0)) / 2);
  for (const [limit, found] of [
    ["0", ["memory/both.md", "memory/one.md"]],
    [between, ["memory/both.md"]],
    [String(second), ["memory/both.md", "memory/one.md"]],
  ] as const)
    expect(await search(sandbox, "ferry harbour", "--min-score", limit)).toEqual(found);
  const cut = await sandbox.runHere(["memory", "search", "ferry harbour", "--explain", "--min-score", between]);
  expect(cut.stderr).toContain("1 result was excluded by --min-score.");
  expect(cut.stdout).toMatch(/Excluded: +1 by minimum score/u);
  expect(cut.stdout).not.toContain("one.md");
  const none = await sandbox.runHere(["memory", "search", "ferry harbour", "--min-score", "1"]);
  expect(none.stdout).toMatch(/^No matches\. All 2 results score less than 1\./u);
  const json = await sandbox.runHere(["memory", "search", "ferry harbour", "--min-score", "1", "--json"]);
  expect(JSON.parse(json.stdout)).toMatchObject({ results: [], underMinScore: 2, state: "ok" });
});

test("matches are marked where colours are wanted: --color goes before the environment", async () => {
  const sandbox = await createSandbox();
  await sandbox.write("MEMORY.md", "We decided to take the ferry.\n");
  const query = ["memory", "search", "decide"];
  const plain = (await sandbox.runHere(query)).stdout;
  expect(plain).not.toContain("\u001B[");
  for (const [args, env, isStyled] of [
    [query, { FORCE_COLOR: "1" }, true],
    [query, { NO_COLOR: "1" }, false],
    [[...query, "--color", "always"], { NO_COLOR: "1" }, true],
    [["--color=always", ...query], { NO_COLOR: "1" }, true],
    [[...query, "--color", "never"], { FORCE_COLOR: "1" }, false],
  ] as const) {
    const { stdout } = await sandbox.runHere(args, { env });
    if (isStyled) expect(stdout).toContain("We \u001B[1mdecided\u001B[22m to take the ferry.");
    else expect(stdout).toBe(plain);
  }
});

test("a query of more than 64 KiB on stdin is refused", async () => {
  const sandbox = await createSandbox();
  const { exitCode, stderr } = await sandbox.runHere(["memory", "search", "-"], { stdin: "x".repeat(70_000) });
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("longer than 64 KiB") });
});

test.skipIf(process.platform === "win32")(
  "a query comes through a pipe, and paths with spaces and line ends go through xargs",
  async () => {
    const sandbox = await createSandbox();
    await sandbox.write("memory/two words\nand a line end.md", "The zeppelin.\n");
    const memslot = command.map((word) => `'${word}'`).join(" ");
    const line = `echo zeppelin | ${memslot} memory search --paths -0 --workspace "$1" | xargs -0 cat`;
    const { stdout } = await promisify(execFile)("sh", ["-c", line, "sh", sandbox.workspace], {
      cwd: sandbox.cwd,
      env: sandbox.env,
    });
    expect(stdout).toBe("The zeppelin.\n");
    const lines = await sandbox.runHere(["memory", "search", "zeppelin", "--paths"]);
    const shown = String.raw`two words\u{A}and a line end.md`;
    expect(lines.stdout).toBe(`${path.join(sandbox.workspace, "memory", shown)}\n`);
  },
);

test.skipIf(process.platform === "win32")(
  "nothing of a note or its name that is invisible or that a terminal obeys is printed, also with styles; its path is taken back",
  async () => {
    const hidden = "\u001B]0;title\u0007\u202E\u{E0049}\u{E0047}\u200B";
    const sandbox = await createSandbox();
    const file = `memory/boat${hidden}.md`;
    await sandbox.write(file, `# Boats\n\nThe ferry ${hidden} leaves at nine.\n\nمی\u200Cخواهم 👩‍🚀\n`);
    const search = await sandbox.runHere(["memory", "search", "ferry nine"]);
    expect(search.exitCode).toBe(0);
    expect(unseenCharacter(search.stdout)).toBeUndefined();
    const [, shown = ""] = /(memory\/boat.*\.md):\d/u.exec(search.stdout) ?? [];
    const [, place = ""] = /^\S+ (.*\.md):\d/u.exec(search.stdout) ?? [];
    for (const asked of [file, shown, `${shown}#L1-L5`, `${shown}:1-5`, place]) {
      const get = await sandbox.runHere(["memory", "get", asked]);
      expect(get.stdout).toBe("# Boats\n\nThe ferry \uFFFD]0;title\uFFFD leaves at nine.\n\nمی\u200Cخواهم 👩‍🚀\n");
    }
    const json = await sandbox.runHere(["memory", "get", shown, "--json"]);
    expect(unseenCharacter(json.stdout)).toBeUndefined();
    expect(JSON.parse(json.stdout)).toMatchObject({ path: file, text: expect.stringContaining(hidden) });
    const env = { FORCE_COLOR: "1", FORCE_HYPERLINK: "1" };
    const styled = await sandbox.runHere(["memory", "search", "ferry nine"], { env });
    // oxlint-disable-next-line no-control-regex -- styles, and the two halves of a link to a file
    const own = /\u001B\[\d+m|\u001B\]8;;(?:file:\/\/[!-~]*)?\u001B\\/gu;
    expect(styled.stdout.match(own)?.length).toBeGreaterThan(6);
    expect(unseenCharacter(styled.stdout.replaceAll(own, ""))).toBeUndefined();
  },
);
