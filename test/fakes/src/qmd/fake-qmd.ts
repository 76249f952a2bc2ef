import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** What goes wrong with a command of the scripted qmd. Everything is left out where nothing does. */
export interface FakeFault {
  /** Ends by this signal; the MCP server when it is started and at a call. */
  crash?: string | undefined;
  /**
   * Never answers. The MCP server still answers `initialize`, and stays when its input is closed. `models`: only searches
   * with models.
   */
  hang?: boolean | "models" | undefined;
  /** The MCP server says no hello. */
  hangAtStart?: boolean | undefined;
  /** Waits first; of the MCP server each call waits. */
  slowMs?: number | undefined;
  /** Waits first and meanwhile listens to nothing, as a real `update` does. */
  blockMs?: number | undefined;
  noiseBefore?: string | undefined;
  noiseAfter?: string | undefined;
  /** In place of the answer; of the MCP server with `"id":1`. */
  stdout?: string | undefined;
  /** Besides whatever else it says. */
  stderr?: string | undefined;
  notBuilt?: boolean | undefined;
  /** Finds the index locked. */
  busy?: boolean | undefined;
  /** `update` finds no collections though there are some. */
  desync?: boolean | undefined;
  /** The rows of an answer name files that are not there. */
  nowhere?: boolean | undefined;
  ignoreTerm?: boolean | undefined;
  /** The MCP server stays when its input is closed. */
  ignoreEof?: boolean | undefined;
  /** Starts a process of its own that holds the output and never ends. */
  grandchild?: boolean | undefined;
  exitMidAnswer?: boolean | undefined;
  diskFull?: boolean | undefined;
  embedLocked?: boolean | undefined;
  /** The answer of an MCP call is this error. */
  toolError?: string | undefined;
}

/** Faults of all commands, and over them those of one. */
export type FakeBehaviour = Partial<Record<"all" | "mcp" | "update" | "embed" | "cleanup" | "version", FakeFault>>;

/** An entry of the log; `at` is in milliseconds since 1970. */
interface FakeStart {
  kind: string;
  pid: number;
  at: number;
  command: string;
  argv: string[];
  cwd: string;
  /** As Node has it: 0 is usual, and more gives way. */
  priority: number;
  env: Record<string, string>;
}
type FakeEnd = Pick<FakeStart, "kind" | "pid" | "at" | "command">;
interface FakeCall {
  pid: number;
  name: string;
  arguments: Record<string, unknown>;
}

/** A scripted qmd in a package folder of its own. */
export interface FakeQmd {
  /** Its package folder. */
  folder: string;
  /** The command: `bin/qmd` in the package folder. */
  command: string;
  /** The command line that starts it without a wrapper. */
  argv: readonly string[];
  version: string;
  /** From now on, for processes that run too. `{}`: it works. */
  set(behaviour: FakeBehaviour): void;
  starts(command?: string): FakeStart[];
  /** The calls of the MCP server. */
  calls(name?: string): FakeCall[];
  /** The commands that came to their own end, in this order. */
  ends(command?: string): FakeEnd[];
  /** How many calls of the MCP server have waited for `slowMs` and are answered now. */
  lateAnswers(): number;
  /** The processes that it has started for the fault `grandchild`. */
  grandchildren(): number[];
  /** Deletes its folder. */
  remove(): void;
}

export interface FakeQmdOptions {
  version?: string | undefined;
  behaviour?: FakeBehaviour | undefined;
  /** Where to put it; a new temporary folder if left out. May have spaces and the like in its name. */
  folder?: string | undefined;
}

/** Makes a scripted qmd. The caller removes it after the test. */
export function makeFakeQmd(options: FakeQmdOptions = {}): FakeQmd {
  const version = options.version ?? "2.8.3";
  const folder = options.folder ?? realpathSync(mkdtempSync(join(tmpdir(), "memslot-fake-qmd-")));
  const script = new URL("fake-qmd.mjs", import.meta.url).href;
  const entry = join(folder, "dist/cli/qmd.js");
  const command = join(folder, "bin/qmd");
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  write(join(folder, "package.json"), JSON.stringify({ name: "@tobilu/qmd", version, type: "module" }));
  write(entry, `import { run } from ${JSON.stringify(script)};\nawait run(${JSON.stringify(folder)});\n`);
  write(command, `#!/usr/bin/env node\nimport "../dist/cli/qmd.js";\n`);
  chmodSync(command, 0o755);
  const set = (behaviour: FakeBehaviour): void => {
    // Whole at any moment: a process that runs may be reading it.
    const next = join(folder, "behaviour.json.next");
    writeFileSync(next, JSON.stringify(behaviour));
    renameSync(next, join(folder, "behaviour.json"));
  };
  set(options.behaviour ?? {});

  const entries = <T>(kind: string, name?: string): T[] => {
    const file = join(folder, "log.jsonl");
    const lines = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
    const all = lines.map((line) => JSON.parse(line) as { kind: string; name?: string; command?: string });
    const isNamed = (each: (typeof all)[number]): boolean => name === undefined || (each.name ?? each.command) === name;
    return all.filter((each) => each.kind === kind && isNamed(each)) as T[];
  };
  return {
    folder,
    command,
    argv: [process.execPath, entry],
    version,
    set,
    starts: (name) => entries("start", name),
    calls: (name) => entries("call", name),
    ends: (name) => entries("end", name),
    lateAnswers: () => entries("late").length,
    grandchildren: () => entries<{ child: number }>("grandchild").map(({ child }) => child),
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }),
  };
}
