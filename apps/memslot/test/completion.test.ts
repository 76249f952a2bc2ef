import { execFile, spawnSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { type Sandbox, createSandbox } from "./run-memslot.ts";
import data from "./data/commands.json" with { type: "json" };

const execFileAsync = promisify(execFile);

/** What the help of a command tells of it. */
interface Told {
  words: readonly string[];
  commands: string[];
  flags: string[];
  /** Flags with the name of their value, `dir`, and its choices. */
  values: { flag: string; name: string; choices: string[] }[];
}

/** What may be typed, by the help of each command: the program itself says it, and no list in a test. */
async function tellCommands(sandbox: Sandbox, words: readonly string[] = []): Promise<Told[]> {
  const { stdout } = await sandbox.run([...words, "--help"]);
  const commands = partOf(stdout, "Commands").map((entry) => entry.split(/[ |]/u)[0] ?? "");
  const options = [...partOf(stdout, "Options"), ...partOf(stdout, "Global Options")];
  const flagsOf = (entry: string): string[] =>
    [...(entry.split(/ {2,}/u)[0] ?? "").matchAll(/(?:^|, )(--?[\w-]+)/gu)].map(([, flag = ""]) => flag);
  const values = options.flatMap((entry) => {
    const [, name] = /^[^<]*<([^>]+)>/u.exec(entry) ?? [];
    const [, list = ""] = /\(choices: (.*?)[,)]? ?(?:default.*)?\)?$/u.exec(entry) ?? [];
    const choices = [...list.matchAll(/"([^"]+)"/gu)].map(([, choice = ""]) => choice);
    return name === undefined ? [] : flagsOf(entry).map((flag) => ({ flag, name, choices }));
  });
  const told = { words, commands, flags: options.flatMap(flagsOf), values };
  const below = commands.filter((name) => name !== "help");
  const all = await Promise.all(below.map((name) => tellCommands(sandbox, [...words, name])));
  return [told, ...all.flat()];
}

/** The entries of a part of a help, each on one line. */
function partOf(help: string, title: string): string[] {
  const [, part = ""] = new RegExp(`^${title}:\\n((?: .*\\n)+)`, "mu").exec(help) ?? [];
  return part
    .replaceAll(/\n {4,}/gu, " ")
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
}

/** One Tab: the words before it, and the one that it stands behind. */
interface Tab {
  before: readonly string[];
  word: string;
}

interface Shell {
  name: "bash" | "zsh" | "fish";
  /** Lines of this shell that complete each, and print a line `== N` and the candidates. */
  driver(scriptFile: string, tabs: readonly Tab[]): string;
}

const quoted = (text: string): string => `'${text}'`;

const bash: Shell = {
  name: "bash",
  driver: (file, tabs) =>
    [
      `source ${quoted(file)}`,
      ...tabs.map(({ before, word }, index) => {
        // As readline cuts words.
        const words = [...before, word].flatMap((one) => one.split(/(?<==)|(?==)/u));
        return `COMP_WORDS=(${words.map(quoted).join(" ")}); COMP_CWORD=${words.length - 1}; _memslot; echo "== ${index}"; printf '%s\\n' "\${COMPREPLY[@]}"`;
      }),
      "complete -p memslot",
    ].join("\n"),
};

/** What zsh would be asked to offer is printed: its own functions need a line editor. */
const zsh: Shell = {
  name: "zsh",
  driver: (file, tabs) =>
    [
      'compdef() { print "complete -F $1 $2" > /dev/null; registered=$1 }',
      '_describe() { [[ $1 == -o ]] && shift; print -rl -- "${(@)${(@P)2}%%:*}" }',
      'compadd() { shift; print -rl -- "$@" }',
      "_files() { [[ $1 == -/ ]] && print -rl -- *(N/) || print -rl -- *(N) }",
      "compset() { : }",
      `source ${quoted(file)}`,
      ...tabs.map(({ before, word }, index) => {
        const words = [...before, word];
        return `words=(${words.map(quoted).join(" ")}); CURRENT=${words.length}; print "== ${index}"; _memslot`;
      }),
      'print "complete -F $registered memslot"',
    ].join("\n"),
};

const fish: Shell = {
  name: "fish",
  driver: (file, tabs) =>
    [
      `source ${quoted(file)}`,
      ...tabs.map(
        ({ before, word }, index) => `echo "== ${index}"; complete -C ${quoted([...before, word].join(" "))}`,
      ),
      "echo complete -F _memslot memslot",
    ].join("\n"),
};

/** The candidates of each Tab that begin with what is typed, sorted. */
async function complete(
  shell: Shell,
  scriptFile: string,
  tabs: readonly Tab[],
  programs = "/nowhere",
): Promise<string[][]> {
  const file = `${scriptFile}.driver`;
  await writeFile(file, shell.driver(scriptFile, tabs));
  const folder = path.dirname(scriptFile);
  const { stdout, stderr } = await execFileAsync(shell.name, [file], {
    cwd: folder,
    timeout: 300_000,
    env: { ...process.env, PATH: [programs, process.env["PATH"]].join(path.delimiter) },
  });
  expect(stderr).toBe("");
  const [, ...parts] = stdout.replace(/complete -F _memslot memslot\n$/u, "").split(/^== \d+\n/mu);
  expect(parts).toHaveLength(tabs.length);
  return parts.map((part, index) => {
    const word = tabs[index]?.word ?? "";
    const typed = word.replace(/^.*=/u, "");
    const names = part
      .split("\n")
      .map((line) => (line.split("\t")[0] ?? "").replace(/^--[a-z-]+=/u, shell.name === "fish" ? "" : "$&"));
    return [...new Set(names)].filter((name) => name !== "" && name.startsWith(typed)).toSorted();
  });
}

/** What the help says, and the script in a folder with a note and a folder. */
async function prepare(shell: Shell): Promise<{ told: Told[]; script: string }> {
  const sandbox = await createSandbox();
  const script = path.join(sandbox.cwd, "script");
  await mkdir(path.join(sandbox.cwd, "folder of notes"));
  await writeFile(path.join(sandbox.cwd, "note.md"), "");
  await writeFile(script, (await sandbox.run(["completion", shell.name])).stdout);
  return { told: await tellCommands(sandbox), script };
}

const found = (name: string): boolean => spawnSync(name, ["-c", "exit 0"]).status === 0;

describe.each([bash, zsh, fish])("completion in $name", (shell) => {
  // Nothing of a script can be tried where its shell is not installed; bash is on every machine that has one of them.
  describe.skipIf(process.platform === "win32" || !found(shell.name))("with the shell itself", () => {
    test("knows every command and every option that the help knows, and no other", async () => {
      const { told, script } = await prepare(shell);
      const tabs = told.flatMap(({ words }) => [
        { before: ["memslot", ...words], word: "--" },
        { before: ["memslot", ...words], word: "-" },
      ]);
      const parents = told.filter(({ commands }) => commands.length > 0);
      const answers = await complete(shell, script, [
        ...tabs,
        ...parents.map(({ words }) => ({ before: ["memslot", ...words], word: "" })),
      ]);
      const wanted = [
        ...told.flatMap(({ flags }) => [flags.filter((flag) => flag.startsWith("--")).toSorted(), flags.toSorted()]),
        ...parents.map(({ commands }) => commands.toSorted()),
      ];
      expect(answers).toEqual(wanted);
      expect(told.length).toBeGreaterThanOrEqual(20);
      expect(told.flatMap(({ flags }) => flags).length).toBeGreaterThan(100);
    });

    test("offers for a value its choices, files, folders, or nothing", async () => {
      const { told, script } = await prepare(shell);
      const places = told.flatMap(({ words, values }) => values.map((value) => ({ words, ...value })));
      const answers = await complete(
        shell,
        script,
        places.map(({ words, flag }) => ({ before: ["memslot", ...words, flag], word: "" })),
      );
      for (const [index, { words, flag, name, choices }] of places.entries()) {
        const where = [...words, flag].join(" ");
        const answer = (answers[index] ?? []).map((candidate) => candidate.replace(/\/$/u, ""));
        if (choices.length > 0) expect({ where, answer }).toEqual({ where, answer: choices.toSorted() });
        else if (name === "dir") expect({ where, answer }).toEqual({ where, answer: ["folder of notes"] });
        else if (name === "file") expect(answer).toEqual(expect.arrayContaining(["folder of notes", "note.md"]));
        else expect({ where, answer }).toEqual({ where, answer: [] });
      }
      expect(places.filter(({ choices }) => choices.length > 0).length).toBeGreaterThan(20);
      expect(places.filter(({ name }) => name === "dir").length).toBeGreaterThan(20);
    });

    test("offers the agents that the configuration lists", async () => {
      const { script } = await prepare(shell);
      const folder = path.dirname(script);
      await writeFile(
        path.join(folder, "memslot"),
        "#!/bin/sh\n[ \"$1 $2\" = 'completion --agents' ] && printf 'main\\nresearch\\n'\n",
        { mode: 0o755 },
      );
      const tabs = [
        { before: ["memslot", "memory", "search", "--agent"], word: "" },
        { before: ["memslot", "doctor", "--agent"], word: "re" },
      ];
      expect(await complete(shell, script, tabs, folder)).toEqual([["main", "research"], ["research"]]);
    });

    test("is not led astray by values, = and what stands before", async () => {
      const { script } = await prepare(shell);
      const tabs = data.tabs as [before: string[], word: string, expected: string[]][];
      const answers = await complete(
        shell,
        script,
        tabs.map(([before, word]) => ({ before, word })),
      );
      expect(answers).toEqual(tabs.map(([, , expected]) => expected));
    });
  });
});
