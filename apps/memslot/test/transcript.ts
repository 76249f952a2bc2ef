import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { clientIds, clientSources } from "@memslot/core";
import { unseenCharacter } from "@memslot/core/host";
import { expect, test } from "vitest";
import { packageVersion } from "../src/package-version.ts";
import { type Finished, type Sandbox, createSandbox } from "./run-memslot.ts";
import { type WrittenPlugin, writePlugin } from "./written-plugin.ts";

const folder = path.join(import.meta.dirname, "golden");
const repository = path.join(import.meta.dirname, "../../..");

type Mask = readonly [pattern: RegExp, mask: string];
type Printed = Finished | void;
type Step = (sandbox: Sandbox, ...words: string[]) => Printed | Promise<Printed>;

export interface TranscriptOptions {
  /** Prepares the sandbox before the first command. */
  prepare?: (sandbox: Sandbox) => unknown;
  /** Commands of this transcript beside `memslot`, and `rm`, `cat` and others for files. */
  steps?: Readonly<Record<string, Step>>;
  /** Further texts that differ from run to run. */
  masks?: readonly Mask[];
}

/**
 * Runs the commands of `golden/NAME.txt` one after the other in one sandbox, and compares what they print with the file.
 * `vitest -u` writes what they print. The file consists of:
 * - text at the beginning of a line: what the next command promises
 * - `Given PATH:` with lines that begin with `  | `: a file that is written at this point
 * - `  $ memslot ...`: a command line, with quotes, `NAME=value` and `cd FOLDER &&` before it, `echo TEXT |`, and the
 *   folders /notes (its workspace, unless it names one), /here (where it runs), /state, /home/ada, /sandbox
 * - other lines that begin with two spaces: what the command prints, with `! ` before lines of stderr and `[2]` for an
 *   exit code other than 0. Times, ports, sizes of the index and scores are masked.
 * No output may contain a word that begins with SECRET, or a character that is invisible or that a terminal obeys.
 */
export function transcript(name: string, { prepare, steps = {}, masks = [] }: TranscriptOptions = {}): void {
  test(`golden/${name}.txt`, { timeout: 600_000 }, async () => {
    const file = path.join(folder, `${name}.txt`);
    const sandbox = await createSandbox();
    await prepare?.(sandbox);
    let shown = "";
    let isAfterStep = false;
    for (const block of blocksOf(readFileSync(file, "utf8"))) {
      let printed = await perform(block, sandbox, steps);
      for (const [pattern, mask] of masks) printed = printed.map((line) => line.replaceAll(pattern, mask));
      const [first = ""] = block.lines;
      shown += `${isAfterStep && first.startsWith("  $ ") ? "" : "\n"}${[...block.lines, ...printed].join("\n")}\n`;
      // What prints nothing stands directly before the next command.
      isAfterStep =
        printed.length === 0 && block.command !== undefined && !/(?:^|\s)memslot(?:\s|$)/u.test(block.command);
    }
    await expect(shown.slice(1)).toMatchFileSnapshot(file);
  });
}

interface Block {
  /** Text, a file, or the line of a command. */
  lines: string[];
  given?: { file: string; content: string };
  command?: string;
}

function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  let prose: string[] = [];
  for (const line of text.split("\n")) {
    const last = blocks.at(-1);
    const [, file] = /^Given (.+):$/u.exec(line) ?? [];
    if (file !== undefined) blocks.push({ lines: [...prose.splice(0), line], given: { file, content: "" } });
    else if (line.startsWith("  |") && last?.given !== undefined) {
      last.lines.push(line);
      last.given.content += `${line.slice(4)}\n`;
    } else if (line.startsWith("  $ ")) blocks.push({ lines: [...prose, line], command: line.slice(4) });
    if (line.startsWith("  $ ")) prose = [];
    else if (line !== "" && !line.startsWith("  ") && file === undefined) prose.push(line);
  }
  return prose.length === 0 ? blocks : [...blocks, { lines: prose }];
}

async function perform(
  { given, command }: Block,
  sandbox: Sandbox,
  steps: Readonly<Record<string, Step>>,
): Promise<string[]> {
  if (given !== undefined) writeIn(sandbox, given.file, withPlaces(given.content, sandbox));
  if (command === undefined) return [];
  let words = wordsOf(command).map((word) => withPlaces(word, sandbox));
  let stdin: string | undefined;
  if (words[0] === "echo") {
    stdin = `${words[1] ?? ""}\n`;
    words = words.slice(words.indexOf("|") + 1);
  }
  let { cwd } = sandbox;
  if (words[0] === "cd") [, cwd = "", , ...words] = words;
  const env: NodeJS.ProcessEnv = {};
  for (let [, name, value] = variable(words); name !== undefined; [, name, value] = variable(words)) {
    env[name] = value;
    words.shift();
  }
  const [program = "", ...args] = words;
  const isPlaced = "MEMSLOT_WORKSPACE" in env || args.some((arg) => /^--workspace\b/u.test(arg));
  const finished =
    program === "memslot"
      ? await sandbox.run(args, {
          cwd,
          env: { ...(!isPlaced && { MEMSLOT_WORKSPACE: sandbox.workspace }), ...env },
          ...(stdin !== undefined && { stdin }),
        })
      : await stepOf(program, steps)({ ...sandbox, env: { ...sandbox.env, ...env } }, ...args);
  if (finished === undefined) return [];
  for (const text of [finished.stdout, finished.stderr]) {
    expect({ command, unseen: unseenCharacter(text) }).toEqual({ command, unseen: undefined });
    expect({ command, secrets: text.match(/SECRET\w+/gu) }).toEqual({ command, secrets: null });
  }
  const lines = [
    ...linesOf(program === "memslot" ? asJson(finished.stdout) : finished.stdout),
    ...linesOf(finished.stderr).flatMap((line) => (isProgress(line) ? [] : [`! ${line}`])),
    ...(finished.exitCode === 0 ? [] : [`[${finished.exitCode}]`]),
  ];
  return masked(lines.join("\n"), sandbox)
    .split("\n")
    .filter((line, _, { length }) => length > 1 || line !== "")
    .map((line) => `  ${line}`.trimEnd());
}
const variable = ([word = ""]: readonly string[]): RegExpExecArray | [] => /^([A-Z_]+)=(.*)$/su.exec(word) ?? [];

const print = (stdout: string): Finished => ({ exitCode: 0, stdout, stderr: "" });

const fileSteps: Readonly<Record<string, Step>> = {
  rm: (_, file = "") => rmSync(file, { recursive: true }),
  mkdir: (_, file = "") => void mkdirSync(file, { recursive: true }),
  ln(_, target = "", link = "") {
    mkdirSync(path.dirname(link), { recursive: true });
    symlinkSync(target, link);
  },
  /** `touch FILE DAY` */
  touch: (_, file = "", day = "") => utimesSync(file, 1, Date.parse(day) / 1000),
  /** `replace FILE FROM TO` */
  replace: (_, file = "", from = "", to = "") =>
    writeFileSync(
      file,
      readFileSync(file, "utf8").replace(from, () => to),
    ),
  cat: (_, file = "") => print(readFileSync(file, "utf8")),
  /** All files below a folder. */
  find(_, place = "") {
    const entries = existsSync(place) ? readdirSync(place, { recursive: true, withFileTypes: true }) : [];
    const files = entries
      .filter((entry) => !entry.isDirectory())
      .map(({ parentPath, name }) => path.join(parentPath, name));
    return print(files.toSorted().join("\n"));
  },
  ls: (_, file = "") => print(`${readdirSync(file).toSorted().join("\n")}\n`),
  /** Writes a note whose name is not UTF-8, which cannot be indexed. */
  lost: (sandbox) => sandbox.writeLost(),
  /** `plugin FOLDER ID [WrittenPlugin]` */
  plugin: (_, place = "", id = "", more = "{}") =>
    void writePlugin(place, { id, ...(JSON.parse(more) as Partial<WrittenPlugin>) }),
};

function stepOf(name: string, steps: Readonly<Record<string, Step>>): Step {
  const step = steps[name] ?? fileSteps[name];
  if (step === undefined) throw new Error(`${name} is no command of a transcript`);
  return step;
}

function writeIn({ folder: root, ...sandbox }: Sandbox, name: string, content: string): void {
  const file = path.resolve(root, withPlaces(name, { folder: root, ...sandbox }));
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, content);
}

/** Without the line whose coming depends on the machine. */
function linesOf(given: string): string[] {
  const text = given.replace(/^memslot: indexing .* for the first time …\n/gmu, "").replace(/\n$/u, "");
  return text === "" ? [] : text.split("\n");
}

/** How far a task is, which is printed after a second: how often depends on the machine. */
const isProgress = (line: string): boolean => /^memslot: .*\(\d+ s\)$/u.test(line);

function asJson(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? `${JSON.stringify(value, undefined, 2)}\n` : text;
  } catch {
    return text;
  }
}

/** The places of a sandbox, by what stands for them in a transcript. */
function placesOf({ folder: root, workspace, cwd, stateDir, env }: Sandbox): [place: string, shown: string][] {
  return [
    [workspace, "/notes"],
    [cwd, "/here"],
    [stateDir, "/state"],
    [env["HOME"] ?? "", "/home/ada"],
    // As Claude Code names the folder of a project.
    [cwd.replaceAll(/[^A-Za-z\d]/gu, "-"), "PROJECT"],
    [root, "/sandbox"],
  ];
}

function withPlaces(text: string, sandbox: Sandbox): string {
  const places = new Map(placesOf(sandbox).map(([place, shown]) => [shown, place]));
  return text.replaceAll(
    /(?<![\w.~])\/(?:notes|here|state|home\/ada|sandbox)(?![\w.-])|\bPROJECT\b/gu,
    (shown) => places.get(shown) ?? shown,
  );
}

/** A day before and a day after: a run may take midnight along, and some times are local. */
const days = [-1, 0, 1].map((day) => new Date(Date.now() + day * 86_400_000).toISOString().slice(0, 10));

const usualMasks: readonly Mask[] = [
  [new RegExp(`(?:${days.join("|")})(?:[T ]\\d\\d:\\d\\d(?::[\\d.]+Z?)?)?`, "gu"), "TODAY"],
  [/\b[01]\.\d{3,}\b/gu, "0.###"],
  [/(?<="timingsMs": \{)[^}]*/gu, ""],
  [/(?<="ms": |Ms": )\d+(?:\.\d+)?(?=,?$)/gmu, "N"],
  [/(?<=^ {2}\w+ +)\d+(?:\.\d+)? k?B$/gmu, "SIZE"],
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{12,64}\b|(?<=-)[0-9a-f]{8}(?=\.sqlite)/gu, "HASH"],
  [/(?<=HASH\.sqlite \()[^)]*/gu, "SIZE"],
  [/(?<="(?:\w+Bytes|bytes)": )\d{5,}|\d+(?= pages without errors)|(?<=space:? +)\d+(?= bytes)/gu, "N"],
  [/(?<=127\.0\.0\.1:)\d+/gu, "PORT"],
  [/\b\d+(?:\.\d+)? m?s\b/gu, "N s"],
  [/\d+\.\d+\.\d+ on \w+ \w+/gu, "VERSION on PLATFORM"],
  [new RegExp(RegExp.escape(packageVersion()), "gu"), "VERSION"],
  [new RegExp(clientIds.join(", "), "gu"), "AGENTS"],
  [new RegExp(clientSources.join(", "), "gu"), "SOURCES"],
];

function masked(text: string, sandbox: Sandbox): string {
  const places = [[process.execPath, "NODE"], ...placesOf(sandbox), [repository, "REPOSITORY"]] as const;
  let shown = text
    .split("\n")
    .map((line) => withoutPlaces(line, places))
    .join("\n");
  for (const [pattern, mask] of usualMasks) shown = shown.replaceAll(pattern, mask);
  return shown;
}

/** A line with the names of its places. Columns behind a place and where a line was cut depend on the length of its path. */
function withoutPlaces(line: string, places: readonly (readonly [place: string, name: string])[]): string {
  let shown = line;
  for (const [place, name] of places) shown = shown.replaceAll(place, name);
  if (shown === line) return line;
  const first = Math.min(...places.map(([, name]) => shown.indexOf(name)).filter((at) => at >= 0));
  const behind = shown.endsWith("…") ? "…" : shown.slice(first).replaceAll(/ {2,}(?=\S)/gu, "  ");
  return `${shown.slice(0, first)}${behind}`;
}

/** The words of a command line. Nothing has a meaning between quotes; `\\n` and `\\u{9}` are characters. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/gu)].map(([word]) =>
    word
      .replaceAll(/'([^']*)'|"([^"]*)"/gu, (_, single?: string, double?: string) => single ?? double ?? "")
      .replaceAll(/\\u\{([\dA-F]+)\}/gu, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)))
      .replaceAll(String.raw`\n`, "\n"),
  );
}
