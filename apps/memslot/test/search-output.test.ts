import { execFile } from "node:child_process";
import { mkdir, readFile, utimes } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { unseenCharacter } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { type Sandbox, command, createSandbox } from "./run-memslot.ts";

const execFileAsync = promisify(execFile);

/** Twelve lines; the ferry is in the third and the tenth. */
const ferry = `# Boats\n\nThe ferry leaves at nine.\n${Array.from({ length: 6 }, (_, index) => `Line ${index + 4}.`).join("\n")}\nThe ferry is late again.\nLine 11.\nLine 12.\n`;

async function withNotes(): Promise<Sandbox> {
  const sandbox = await createSandbox();
  await sandbox.write("memory/2026-03-02.md", ferry);
  await sandbox.write("memory/b.md", "The ferry to Kiel.\n");
  await sandbox.write("memory/a.md", "Another ferry, to Oslo.\n");
  return sandbox;
}

const lines = (text: string): string[] => text.split("\n").filter(Boolean);

describe("what memslot memory search prints", () => {
  test("names each result so that it opens from here, and takes that name back", async () => {
    const sandbox = await withNotes();
    for (const [cwd, shown] of [
      [sandbox.workspace, "memory/2026-03-02.md"],
      [path.join(sandbox.workspace, "memory"), "2026-03-02.md"],
      [sandbox.cwd, path.join(sandbox.workspace, "memory/2026-03-02.md")],
    ] as const) {
      const { stdout } = await sandbox.runHere(["memory", "search", "ferry nine leaves", "-n", "1"], { cwd });
      const [, place = ""] = /^\S+ (.*)\n/u.exec(stdout) ?? [];
      expect(place).toBe(`${shown}:3`);
      expect((await readFile(path.resolve(cwd, place.replace(/:3$/u, "")), "utf8")).split("\n")[2]).toContain("nine");
      const get = await sandbox.runHere(["memory", "get", place], { cwd });
      expect(get).toEqual({ exitCode: 0, stdout: "The ferry leaves at nine.\n", stderr: "" });
    }
  });

  test("numbers the lines as the file has them, and tells those that match", async () => {
    const sandbox = await withNotes();
    const { stdout } = await sandbox.runHere(["memory", "search", "ferry nine leaves", "-n", "1"]);
    const shown = lines(stdout)
      .slice(1)
      .filter((line) => line !== "…");
    const file = ferry.split("\n");
    for (const line of shown) {
      const [, number = "", sign, text] = /^ *(\d+)([:-]) ?(.*)$/u.exec(line) ?? [];
      expect(text).toBe(file[Number(number) - 1]);
      expect(sign).toBe(/ferry/u.test(text ?? "") ? ":" : "-");
    }
    expect(shown.map((line) => line.trim())).toContain("3: The ferry leaves at nine.");
    expect(shown.length).toBeGreaterThan(1);
  });

  test("numbers what a long note is cut to, with gaps for what is left out", async () => {
    const sandbox = await createSandbox();
    const filler = Array.from({ length: 24 }, (_, index) => `Nothing that anybody looks for stands in line ${index}.`);
    const note = ["The ferry is called Alma.", "", ...filler, "", "The harbour of the ferry is Kiel.", ...filler];
    await sandbox.write("MEMORY.md", `${note.join("\n")}\n`);
    const { stdout } = await sandbox.runHere(["memory", "search", "ferry harbour Alma", "-n", "1"]);
    const [, ...shown] = lines(stdout);
    expect(shown).toContain("…");
    let checked = 0;
    for (const line of shown.filter((text) => text !== "…")) {
      const [, number = "", text] = /^ *(\d+)[:-] (.*)$/u.exec(line) ?? [];
      expect({ number, text }).toEqual({ number, text: note[Number(number) - 1] });
      checked++;
    }
    expect(checked).toBeGreaterThan(5);
  });

  test("--context shows the lines that match with so many around, from the file", async () => {
    const sandbox = await withNotes();
    const search = async (...args: string[]): Promise<string[]> => {
      const { stdout } = await sandbox.runHere(["memory", "search", "ferry nine leaves", "-n", "1", ...args]);
      return lines(stdout).slice(1);
    };
    expect(await search("--context", "0")).toEqual([
      " 3: The ferry leaves at nine.",
      "…",
      "10: The ferry is late again.",
    ]);
    expect(await search("-C", "1")).toEqual([
      " 2-",
      " 3: The ferry leaves at nine.",
      " 4- Line 4.",
      "…",
      " 9- Line 9.",
      "10: The ferry is late again.",
      "11- Line 11.",
    ]);
    expect(await search("-C", "1000")).toHaveLength(12);
  });

  test("--paths prints each path once, for xargs too", async () => {
    const sandbox = await withNotes();
    await sandbox.write("memory/with space\nand line end.md", "The ferry to Turku.\n");
    const { stdout, stderr } = await sandbox.runHere(["memory", "search", "ferry", "--paths"]);
    expect(lines(stdout).toSorted()).toEqual(
      ["2026-03-02.md", "a.md", "b.md", String.raw`with space\u{A}and line end.md`].map((name) =>
        path.join(sandbox.workspace, "memory", name),
      ),
    );
    const raw = await sandbox.runHere(["memory", "search", "ferry", "--paths", "-0"]);
    const names = raw.stdout.split("\0");
    expect(names.pop()).toBe("");
    expect(names).toHaveLength(4);
    for (const name of names) expect(await readFile(name, "utf8")).toContain("ferry");
    expect(stderr).toContain("indexed 4 files");
  });

  test("--count says how many passages there are, and in how many notes", async () => {
    const sandbox = await withNotes();
    for (let index = 0; index < 30; index++) await sandbox.write(`memory/more/${index}.md`, `Ferry number ${index}.\n`);
    const all = await sandbox.runHere(["memory", "search", "ferry", "--count"]);
    expect(all).toMatchObject({ exitCode: 0, stdout: "33 passages in 33 notes\n" });
    const some = await sandbox.runHere(["memory", "search", "ferry", "--count", "-n", "5"]);
    expect(some.stdout).toBe(all.stdout);
  });

  test("says how many more there are, to people beside the results and to programs among the fields", async () => {
    const sandbox = await withNotes();
    for (let index = 0; index < 30; index++) await sandbox.write(`memory/more/${index}.md`, `Ferry number ${index}.\n`);
    const few = await sandbox.runHere(["memory", "search", "ferry", "-n", "5"]);
    expect(few.stderr).toContain("memslot: 28 passages more; --max-results and --max-tokens show them.\n");
    const json = await sandbox.runHere(["memory", "search", "ferry", "-n", "5", "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({ found: { passages: 33, notes: 33, more: false } });
    const all = await sandbox.runHere(["memory", "search", "ferry", "-n", "50"]);
    expect(all.stderr).toBe("");
  });

  test("says that there are at least so many where not all that matches was looked at", async () => {
    const sandbox = await createSandbox();
    for (let index = 0; index < 230; index++) await sandbox.write(`memory/${index}.md`, `Ferry number ${index}.\n`);
    const { stdout } = await sandbox.runHere(["memory", "search", "ferry", "--count"]);
    const [, passages] = /^at least (\d+) passages in \d+ notes\n$/u.exec(stdout) ?? [];
    expect(Number(passages)).toBeGreaterThanOrEqual(200);
    expect((await sandbox.runHere(["memory", "search", "ferry"])).stderr).toMatch(
      /^memslot: At least \d+ passages more;/mu,
    );
  });

  test("where nothing is found, paths are none and the count is 0; the reason is on stderr, the exit code 0", async () => {
    const sandbox = await withNotes();
    const paths = await sandbox.runHere(["memory", "search", "zeppelin", "--paths"]);
    expect(paths).toMatchObject({ exitCode: 0, stdout: "" });
    expect(paths.stderr).toContain("No matches.");
    const count = await sandbox.runHere(["memory", "search", "zeppelin", "--count"]);
    expect(count).toMatchObject({ exitCode: 0, stdout: "0 passages in 0 notes\n" });
  });

  test("--sort changes the order of what is shown, in JSON too, and not what is shown", async () => {
    const sandbox = await withNotes();
    // The day in the name goes before the time of the file.
    await utimes(path.join(sandbox.workspace, "memory/a.md"), 1, Date.parse("2026-03-01") / 1000);
    await utimes(path.join(sandbox.workspace, "memory/b.md"), 1, Date.parse("2026-03-20") / 1000);
    await utimes(path.join(sandbox.workspace, "memory/2026-03-02.md"), 1, Date.parse("2026-05-05") / 1000);
    const order = async (sort: string): Promise<string> => {
      const { stdout } = await sandbox.runHere(["memory", "search", "ferry", "--paths", "--sort", sort]);
      const { stdout: json } = await sandbox.runHere(["memory", "search", "ferry", "--json", "--sort", sort]);
      const names = lines(stdout).map((name) => path.basename(name, ".md"));
      const results = JSON.parse(json).results as { path: string }[];
      expect(results.map((result) => path.basename(result.path, ".md"))).toEqual(names);
      return names.join(" ");
    };
    expect(await order("path")).toBe("2026-03-02 a b");
    expect(await order("newest")).toBe("b 2026-03-02 a");
    expect(await order("oldest")).toBe("a 2026-03-02 b");
    expect((await order("relevance")).split(" ").toSorted()).toEqual(["2026-03-02", "a", "b"]);
    const byName = await sandbox.runHere(["memory", "search", "ferry", "--sort", "name"]);
    expect(byName.exitCode).toBe(2);
    expect(byName.stderr).toContain("relevance, path, newest, oldest");
  });

  test.each([
    [["--paths", "--count"]],
    [["--json", "--paths"]],
    [["--json", "--context", "2"]],
    [["--count", "--explain"]],
    [["--null"]],
    [["--context", "-1"]],
    [["-n", "0"]],
  ])("%j is a usage error that names an option", async (args) => {
    const sandbox = await createSandbox();
    const { exitCode, stderr, stdout } = await sandbox.runHere(["memory", "search", "x", ...args]);
    expect(exitCode).toBe(2);
    expect(stderr + stdout).toContain(args.find((arg) => arg.startsWith("--")) ?? args[0]);
  });

  test("--why says what keeps a note from the answer, also as JSON", async () => {
    const sandbox = await withNotes();
    await sandbox.write("projects/plan.md", "The ferry.\n");
    const why = ["memory", "search", "ferry Kiel", "-n", "1", "--why"];
    const human = await sandbox.runHere([...why, "memory/a.md:1"]);
    expect(human.exitCode).toBe(0);
    expect(human.stdout).toMatch(/^rank \d of \d, cut by the limit of 1 result; .* Show \d results\.\n/u);
    expect(human.stdout).toMatch(/^\+ words: +it holds ferry; missing: Kiel$/mu);
    expect(human.stdout).toMatch(/^x answer: /mu);
    expect(human.stdout).toContain("beaten by:");
    expect((await sandbox.runHere([...why, "projects/plan.md"])).stdout).toContain("extraPaths");
    expect(JSON.parse((await sandbox.runHere([...why, "The ferry to Kiel.", "--json"])).stdout)).toMatchObject({
      found: true,
      place: { path: "memory/b.md", rank: 1 },
    });
  });

  test("--explain says what the score of each result is made of, and what scores mean", async () => {
    const sandbox = await withNotes();
    const { stdout } = await sandbox.runHere(["memory", "search", "ferry", "-n", "1", "--explain"]);
    expect(stdout).toMatch(/^0\.\d{3} \S+:\d+ \((?:words|names) 0\.\d{3}.*, text 0\.\d{3}\)\n/u);
    expect(stdout).toMatch(/^Score: +0 to 1, .*no probability/mu);
    expect(stdout).toMatch(/^Text score: +0 to 1/mu);
    expect(stdout).toMatch(/^Vector score: +the cosine/mu);
    expect((await sandbox.runHere(["memory", "search", "ferry"])).stdout).not.toContain("(text");
  });

  test("shows of a name and a note nothing that a terminal obeys, also where styles are on", async () => {
    const sandbox = await createSandbox();
    const escape = "\u001B]8;;http://evil.example\u0007\u001B[2J";
    await sandbox.write(
      `memory/boat${process.platform === "win32" ? "" : escape.replaceAll("/", "-")}.md`,
      `The ${escape} ferry.\n`,
    );
    const env = { FORCE_COLOR: "1", FORCE_HYPERLINK: "1" };
    const { stdout } = await sandbox.runHere(["memory", "search", "ferry"], { env });
    // oxlint-disable-next-line no-control-regex -- styles, and the two halves of a link to a file
    const own = /\u001B\[\d+m|\u001B\]8;;(?:file:\/\/[!-~]*)?\u001B\\/gu;
    expect(stdout.match(own)?.length).toBeGreaterThan(6);
    expect(unseenCharacter(stdout.replaceAll(own, ""))).toBeUndefined();
    expect(stdout).not.toContain("evil.example\u0007");
  });
});

describe("a query from stdin", () => {
  test("is taken for -, and where there is none on the command line", async () => {
    const sandbox = await withNotes();
    for (const args of [["-"], []]) {
      const { stdout } = await sandbox.runHere(["memory", "search", ...args, "--paths"], {
        stdin: "\uFEFFferry to Kiel\r\n",
      });
      expect(lines(stdout)[0]).toContain("b.md");
    }
    const named = await sandbox.runHere(["memory", "search", "Oslo", "--paths"], { stdin: "ferry to Kiel\n" });
    expect(named.stdout).toContain("a.md");
  });

  test("is a usage error where it is empty or far too long", async () => {
    const sandbox = await createSandbox();
    for (const [stdin, message] of [
      ["", "holds no query"],
      [" \n", "holds no query"],
      ["x".repeat(70_000), "longer than 64 KiB"],
    ] as const) {
      const { exitCode, stdout, stderr } = await sandbox.runHere(["memory", "search", "-"], { stdin });
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
      expect(stderr).toContain(message);
    }
  });
});

describe.skipIf(process.platform === "win32")("among other programs", () => {
  test("a query comes through a pipe, and paths with spaces go through xargs", { timeout: 60_000 }, async () => {
    const sandbox = await withNotes();
    await mkdir(path.join(sandbox.workspace, "memory/two words"));
    await sandbox.write("memory/two words/c.md", "The zeppelin.\n");
    const memslot = command.map((word) => `'${word}'`).join(" ");
    const line = `echo zeppelin | ${memslot} memory search --paths -0 --workspace "$1" | xargs -0 cat`;
    const { stdout } = await execFileAsync("sh", ["-c", line, "sh", sandbox.workspace], {
      cwd: sandbox.cwd,
      env: sandbox.env,
    });
    expect(stdout).toBe("The zeppelin.\n");
  });
});
