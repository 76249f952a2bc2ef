import { lstat, mkdir, readdir, realpath, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { MemoryError, messageOf, visibleName } from "@memslot/core";
import { resolveStateDir, trustConfig, type ConfigReferenceRow, configReference } from "@memslot/core/host";
import { type NotesSurvey, holdsNotes, surveyNotes } from "@memslot/indexing/host";
import type { CommandContext } from "../command-context.ts";
import { confirm } from "../terminal/confirm.ts";
import { ExitCode } from "../terminal/exit-code.ts";
import { describeLayout, describeLeftOut, describeUnsearched } from "../format/describe-excluded-notes.ts";
import { counted } from "../open/scan-summary.ts";
import { resolvePath } from "../open/find-notes-folder.ts";

export interface InitCommandOptions {
  yes?: boolean;
}

/** A file or folder that `init` creates if it is missing. */
interface Step {
  path: string;
  what: string;
  make(): Promise<unknown>;
}

const memoryNote = `# Memory

Long-term facts: people, decisions and their reasons, preferences, how things are set up.
Daily notes go to memory/YYYY-MM-DD.md. Everything is plain Markdown: edit it with any editor.
`;

/** `memslot init`: creates a commented memslot.json5 and the folders of the workspace. Never overwrites a file. */
export async function init(context: CommandContext, options: InitCommandOptions): Promise<number> {
  const { output, cwd, env } = context;
  const workspaceDir = resolvePath(context.workspace ?? ".", cwd, env);
  const configFile = resolvePath(context.configPath ?? "memslot.json5", cwd, env);
  await refuseFiles([path.join(workspaceDir, "memory"), path.dirname(configFile)]);
  const survey = await surveyWorkspace(context, workspaceDir);
  const isFolderOfNotes = survey?.layout === "all" && holdsNotes(workspaceDir);
  reportSurvey(context, survey, isFolderOfNotes);
  const missing: Step[] = [];
  for (const step of planSteps(context, { configFile, workspaceDir, isFolderOfNotes })) {
    const there = await whatIsThere(step.path);
    if (there === undefined) missing.push(step);
    else output.print(`${there}: already exists, unchanged`);
  }
  if (missing.length === 0) {
    output.print("Nothing to do.");
    return ExitCode.ok;
  }
  if (options.yes !== true && context.stdin.isTTY === true && !(await agreed(context, missing))) {
    output.print("Nothing was written.");
    return ExitCode.ok;
  }
  for (const step of missing) {
    await make(step);
    output.print(`${step.path}: ${step.what}`);
  }
  const config = context.configPath === undefined ? "" : ` --config ${context.configPath}`;
  const first = isFolderOfNotes ? "" : `write a note into ${path.join(workspaceDir, "MEMORY.md")}, then `;
  output.print(`\nNext: ${first}search:`);
  output.print(`  memslot memory search "..."${config}`);
  return ExitCode.ok;
}

async function surveyWorkspace(
  { cwd, env, signal }: CommandContext,
  workspaceDir: string,
): Promise<NotesSurvey | undefined> {
  const canonical = await realpath(workspaceDir).catch(() => undefined);
  if (canonical === undefined) return undefined;
  const settings = { extraPaths: [], notes: "auto" } as const;
  return await surveyNotes({ workspaceDir: canonical, settings, stateDir: resolveStateDir({ cwd, env }) }, signal);
}

function reportSurvey({ output }: CommandContext, survey: NotesSurvey | undefined, isFolderOfNotes: boolean): void {
  if (survey === undefined || (survey.layout === "all" && !isFolderOfNotes)) return;
  output.print(`Layout: ${describeLayout(survey)}: ${counted(survey.files, "Markdown file")}`);
  const leftOut = describeLeftOut(survey.leftOut);
  if (leftOut !== undefined) output.print(`Excluded: ${leftOut}`);
  const unsearched = describeUnsearched(survey.unsearched);
  if (unsearched !== undefined) output.print(`Not searched: ${unsearched}`);
}

/** A folder of notes gets only a configuration, no MEMORY.md. */
function planSteps(
  context: CommandContext,
  {
    configFile,
    workspaceDir,
    isFolderOfNotes,
  }: Record<"configFile" | "workspaceDir", string> & { isFolderOfNotes: boolean },
): Step[] {
  const { cwd, env } = context;
  const stateDir = resolveStateDir({ cwd, env });
  const ofAgent: Step[] = [
    {
      path: path.join(workspaceDir, "memory"),
      what: "the folder of daily notes",
      async make() {
        // Everything in the state folder is private to its owner, also if this creates that folder.
        const inside = path.relative(stateDir, workspaceDir).split(path.sep)[0] ?? "";
        const mode = inside !== ".." && !path.isAbsolute(inside) ? 0o700 : 0o777;
        await mkdir(path.join(workspaceDir, "memory"), { recursive: true, mode });
      },
    },
    {
      path: path.join(workspaceDir, "MEMORY.md"),
      what: "the curated memory",
      make: () => writeFile(path.join(workspaceDir, "MEMORY.md"), memoryNote, { flag: "wx" }),
    },
  ];
  return [
    ...(isFolderOfNotes ? [] : ofAgent),
    // Last, so that it never names a workspace that could not be made.
    {
      path: configFile,
      what: "the configuration, with comments",
      async make() {
        // The file may contain keys later.
        await mkdir(path.dirname(configFile), { recursive: true, mode: 0o700 });
        const workspace = writtenWorkspace(path.dirname(configFile), workspaceDir);
        await writeFile(configFile, initialConfigText({ workspace, ...(isFolderOfNotes && { notes: "all" }) }), {
          flag: "wx",
          mode: 0o600,
        });
        await trustConfig(configFile, { stateDir, env });
      },
    },
  ];
}

/** Throws before anything is written if a file is in the place of a folder or one of its parents. */
async function refuseFiles(folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    let place = folder;
    let stats = await stat(place).catch(() => undefined);
    while (stats === undefined && place !== path.dirname(place)) {
      place = path.dirname(place);
      stats = await stat(place).catch(() => undefined);
    }
    if (stats !== undefined && !stats.isDirectory())
      throw new MemoryError("WORKSPACE", `${folder} cannot be created: ${place} is not a folder; nothing was written`);
  }
}

/** Relative if the workspace is in the folder of the configuration, so that both can be moved together. */
function writtenWorkspace(configDir: string, workspaceDir: string): string {
  const relative = path.relative(configDir, workspaceDir);
  if (path.isAbsolute(relative) || relative === ".." || relative.startsWith(`..${path.sep}`)) return workspaceDir;
  return relative === "" ? "." : `./${relative.replaceAll(path.sep, "/")}`;
}

async function make(step: Step): Promise<void> {
  try {
    await step.make();
  } catch (error) {
    if (MemoryError.is(error)) throw error;
    throw new MemoryError("WORKSPACE", `${step.path} could not be written: ${messageOf(error)}`, { cause: error });
  }
}

async function whatIsThere(wanted: string): Promise<string | undefined> {
  const folder = path.dirname(wanted);
  const name = path.basename(wanted);
  try {
    await lstat(wanted);
    return wanted;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "ENOTDIR")
      throw new MemoryError("WORKSPACE", `${wanted} cannot be read: ${messageOf(error)}`, { cause: error });
  }
  if (name !== "MEMORY.md") return undefined;
  const names = await readdir(folder).catch((): string[] => []);
  const other = names.find((candidate) => candidate === "memory.md");
  return other === undefined ? undefined : path.join(folder, other);
}

async function agreed(context: CommandContext, missing: readonly Step[]): Promise<boolean> {
  const steps = missing.map((step) => `  ${visibleName(step.path)}: ${step.what}\n`);
  context.output.stderr.write(`These files will be created:\n${steps.join("")}`);
  return await confirm(context, "Continue?");
}

type Group = Map<string, Group | ConfigReferenceRow>;

/** The first `memslot.json5`, with common keys as comments. A relative `workspace` starts at the file's folder. */
export function initialConfigText(options: { workspace: string; notes?: "all" }): string {
  const given: Readonly<Record<string, string | undefined>> = {
    "agents.defaults.workspace": options.workspace,
    "agents.defaults.memorySearch.notes": options.notes,
  };
  const root: Group = new Map();
  for (const key of configReference()) if (key.isCommon) insert(root, key);
  const lines = [
    "// The configuration of memslot, in JSON5: comments and commas at the end are fine.",
    "// Commented keys have their default values. `memslot config` shows every key, its value and where it comes from.",
    "{",
    ...written(root, "  "),
    "}",
  ];
  return `${lines.join("\n")}\n`;

  function written(group: Group, indent: string): string[] {
    return [...group].flatMap(([name, inner]) => {
      if (inner instanceof Map) return [`${indent}${name}: {`, ...written(inner, `${indent}  `), `${indent}},`];
      const chosen = given[inner.key];
      const value = chosen === undefined ? inner.default : JSON.stringify(chosen);
      return [`${indent}// ${inner.doc}`, `${indent}${chosen === undefined ? "// " : ""}${name}: ${value},`];
    });
  }
}

function insert(root: Group, key: ConfigReferenceRow): void {
  const names = key.key.split(".");
  const last = names.pop() ?? "";
  let group = root;
  for (const name of names) {
    const known = group.get(name);
    const next = known instanceof Map ? known : (new Map() as Group);
    group.set(name, next);
    group = next;
  }
  group.set(last, key);
}
