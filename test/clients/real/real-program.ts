import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { FakeModel, ModelRequest, ModelScript } from "@memslot/fakes/model-apis";
import { root } from "../../support/repository.ts";
import { type CommandRun, plainEnvironment, tryCommand } from "../../support/run-command.ts";
import table from "./programs.json" with { type: "json" };

/**
 * A program that the tests install and drive: a row of programs.json. `{url}` is the model's, `{prompt}` what the user
 * types, `{words}` the same as one argument for each word.
 */
export interface ProgramRow {
  id: string;
  name: string;
  package: string;
  version: string;
  command: string;
  env: Record<string, string>;
  /** Files of the user's home before `memslot connect`. */
  files: Record<string, string>;
  ask: string[];
  resume: string[];
  /** A command of the program, or the tokens (of each request in turn) from which the program compacts by itself. */
  compact: { prompt?: string; tokens?: number | number[] };
  /** Starts a subagent that looks for Wilma. */
  subagent?: { name: string; input: object };
  /** Steps that are not proved, with the reason. */
  not: Partial<Record<Step, string>>;
}

export type Step = keyof typeof table.steps;
export const programs: readonly ProgramRow[] = table.programs as unknown as ProgramRow[];

export interface RealProgram {
  readonly home: string;
  readonly project: string;
  /** Runs the program until it ends. The model follows the script. Returns the requests to the model. */
  ask(prompt: string, script: ModelScript, how?: "ask" | "resume"): Promise<ModelRequest[]>;
  memslot(...words: string[]): Promise<CommandRun>;
  /** The messages that the journal keeps, in the order of their files. */
  journal(): { role: string; text: string }[];
  dailyLog(): string;
  read(file: string): string;
}

/**
 * The program of a row: below `MEMSLOT_PROGRAMS/ID` where that is set, else installed from npm into `.tools/programs`.
 * Undefined, with one line that says how to get it, if npm cannot install it.
 */
export async function installedProgram(row: ProgramRow): Promise<string | undefined> {
  const kept = process.env["MEMSLOT_PROGRAMS"];
  const place =
    kept === undefined ? path.join(root, ".tools/programs", `${row.id}-${row.version}`) : path.join(kept, row.id);
  const program = path.join(place, "node_modules/.bin", row.command);
  if (!existsSync(program)) {
    mkdirSync(place, { recursive: true });
    writeFileSync(path.join(place, "package.json"), '{ "private": true }\n');
    const words = ["install", "--no-audit", "--no-fund", "--loglevel=error", `${row.package}@${row.version}`];
    await tryCommand("npm", words, { cwd: place });
  }
  const problem = existsSync(program) ? otherVersion(place, row) : "could not be installed from npm";
  if (problem === undefined) return program;
  process.stderr.write(
    `skipped: ${row.package}@${row.version} ${problem}; install it into DIR/${row.id} and set MEMSLOT_PROGRAMS=DIR\n`,
  );
  return undefined;
}

function otherVersion(place: string, row: ProgramRow): string | undefined {
  const manifest = path.join(place, "node_modules", row.package, "package.json");
  const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { version: string };
  return version === row.version ? undefined : `is version ${version} there`;
}

const cli = path.join(root, "apps/memslot/src/cli.ts");
const compileCache = path.join(root, "node_modules/.cache/compile");

/** With the program's key the command would ask the real provider for embeddings. */
function withoutKeys(env: Record<string, string | undefined>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.endsWith("_API_KEY")));
}

/** The program with a home of its own, in which the row's files and some notes are. */
export function createProgram(program: string, row: ProgramRow, home: string, model: FakeModel): RealProgram {
  const filled = (text: string, prompt = ""): string =>
    text.replaceAll("{url}", model.url).replaceAll("{prompt}", prompt);
  const project = path.join(home, "app");
  const stateDir = path.join(home, ".memslot");
  const notes = path.join(home, "notes");
  const write = (file: string, text: string): void => {
    mkdirSync(path.dirname(path.join(home, file)), { recursive: true });
    writeFileSync(path.join(home, file), text);
  };
  mkdirSync(path.join(project, ".git"), { recursive: true });
  for (const [file, text] of Object.entries({ ...notesOfUser, ...row.files })) write(file, filled(text));
  const env = {
    PATH: plainEnvironment()["PATH"],
    HOME: home,
    TERM: "dumb",
    MEMSLOT_HOME: stateDir,
    NODE_COMPILE_CACHE: compileCache,
    // A test does not depend on the pace of its machine.
    MEMSLOT_HOOK_DEADLINE_MS: "60000",
    ...Object.fromEntries(Object.entries(row.env).map(([name, value]) => [name, filled(value)])),
  };
  return {
    home,
    project,
    async ask(prompt, script, how = "ask") {
      const before = model.requests.length;
      model.follow(script);
      const words = row[how].flatMap((word) => (word === "{words}" ? prompt.split(" ") : filled(word, prompt)));
      const { exitCode, stdout, stderr } = await ended(program, words, { cwd: project, env });
      if (exitCode !== 0)
        throw new Error(`${row.command} ${words.join(" ")} ended with ${exitCode}\n${stdout}\n${stderr}`);
      return model.requests.slice(before);
    },
    memslot: (...words) =>
      ended(process.execPath, ["--conditions=@memslot/source", cli, ...words], {
        cwd: project,
        env: { ...withoutKeys(env), MEMSLOT_WORKSPACE: notes },
      }),
    journal() {
      const folder = path.join(stateDir, "agents/main/journal");
      const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".jsonl")) : [];
      return files.flatMap((name) =>
        readFileSync(path.join(folder, name), "utf8")
          .trim()
          .split("\n")
          .flatMap((line) => {
            const { message } = JSON.parse(line) as { message?: { role: string; content: unknown } };
            if (message === undefined) return [];
            const { role, content } = message;
            const parts = typeof content === "string" ? [{ text: content }] : (content as { text: string }[]);
            return [{ role, text: parts.map(({ text }) => text).join("\n") }];
          }),
      );
    },
    dailyLog() {
      const folder = path.join(notes, "memory");
      const logs = readdirSync(folder).filter((name) => /^\d{4}-\d{2}-\d{2}\.md$/u.test(name));
      return logs.map((name) => readFileSync(path.join(folder, name), "utf8")).join("\n");
    },
    read: (file) => readFileSync(path.join(home, file), "utf8"),
  };
}

const notesOfUser = {
  "notes/MEMORY.md": "# Memory\n\n- The staging database listens on port 5544.\n",
  "notes/memory/boats.md": "# Boats\n\nThe harbour code of the Lisbon marina is HX-19.\n",
};

// Ends a program that hangs.
const runMs = 300_000;

async function ended(
  command: string,
  words: readonly string[],
  how: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<CommandRun> {
  // The whole group is ended: some programs are started by a script.
  const child = spawn(command, words, { ...how, stdio: ["ignore", "pipe", "pipe"], detached: true });
  const limit = setTimeout(() => process.kill(-(child.pid ?? 0), "SIGKILL"), runMs);
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (data: string) => (stdout += data));
  child.stderr.setEncoding("utf8").on("data", (data: string) => (stderr += data));
  const [exitCode] = (await once(child, "close")) as [number | null];
  clearTimeout(limit);
  return { exitCode, stdout, stderr };
}
