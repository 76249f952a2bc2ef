import path from "node:path";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { type ClientSurvey, surveyClients } from "@memslot/indexing";
import { homeDir, type ConfigEdit, editConfigFile, fileToEdit, searchGroupIn } from "@memslot/core/host";
import type { MemslotConfig, ClientSource } from "@memslot/core";
import { byteSize } from "../format/units.ts";
import { counted } from "../open/scan-summary.ts";
import { printable } from "../terminal/output.ts";
import { UsageError, ExitCode } from "../terminal/exit-code.ts";
import type { CommandContext, CommonOptions } from "../command-context.ts";
import { chooseAgent } from "../open/choose-agents.ts";
import { readConfig } from "../open/read-config.ts";
import { confirm } from "../terminal/confirm.ts";

export function describeSurvey({ conversations, inProject, projects, notes, bytes }: ClientSurvey): string {
  if (conversations + notes === 0) return "none";
  const where = projects === 0 ? "" : ` in ${counted(projects, "folder")}`;
  const own = inProject === 0 ? "" : `, ${inProject} of this project`;
  const kept = notes === 0 ? "" : `, ${counted(notes, "note")}`;
  return `${counted(conversations, "conversation")}${where}${own}${kept}, ${byteSize(bytes)}`;
}

export function describeFolders({ folders }: ClientSurvey, env: NodeJS.ProcessEnv): string {
  const home = homeDir(env);
  const shown = folders.map((folder) => {
    const way = path.relative(home, folder);
    return way.startsWith("..") || path.isAbsolute(way) ? folder : path.join("~", way);
  });
  return printable(shown.join(", "));
}

/** Throws if an agent has its own list of sources, which a change of the defaults would not affect. */
export function refuseOwnSources(config: MemslotConfig): void {
  const keys = config.describe().map(({ key }) => key);
  const own = keys.find((key) => /^agents\.list\[.+\]\.memorySearch\.sources$/u.test(key));
  if (own !== undefined)
    throw new UsageError(
      `${own} overrides the sources for this agent: change it in ${config.file ?? "the configuration"}`,
    );
}

export async function sourcesList(context: CommandContext, options: CommonOptions): Promise<number> {
  const { output, cwd, env, signal } = context;
  const config = await readConfig(context);
  const agent = chooseAgent(config, undefined);
  const { sources, clients } = agent.memorySearch;
  const surveys = await surveyClients({ folders: clients.folders, projectDir: cwd, signal });
  const { scope, keep } = clients;
  if (options.json === true) {
    const list = surveys.map((survey) => ({ ...survey, searched: sources.includes(survey.source) }));
    output.printJson({ scope, keep, sources: list });
    return ExitCode.ok;
  }
  const names = surveys.map(({ source }) => source);
  const width = Math.max(...names.map(({ length }) => length));
  for (const survey of surveys) {
    const isThere = survey.conversations + survey.notes > 0;
    const state = sources.includes(survey.source) ? "searched" : isThere ? "not searched" : "";
    const says = [state, describeSurvey(survey), isThere ? describeFolders(survey, env) : ""].filter(Boolean);
    output.print(`${survey.source.padEnd(width)}  ${says.join(" · ")}`);
    for (const { path: place, reason } of survey.failed) output.notice(`${printable(place)} ${printable(reason)}`);
  }
  const added = names.filter((name) => sources.includes(name));
  output.print("");
  if (added.length === 0) output.print("Nothing is searched until you add it: memslot sources add claude-code");
  else
    output.print(
      `Searched: conversations of ${scope === "all" ? "all projects" : "the current project"}; ` +
        `${keep ? "a copy of the messages is kept" : "deleted conversations are no longer found"}.`,
    );
  return ExitCode.ok;
}

export interface SourcesAddOptions extends CommonOptions {
  scope?: "project" | "all";
  keep?: boolean;
  yes?: boolean;
}

/** `memslot sources add`: prints the size of the sources, asks, and adds them to the configuration. */
export async function sourcesAdd(
  context: CommandContext,
  options: SourcesAddOptions,
  ...names: string[]
): Promise<number> {
  const { output, cwd, env, stdin, signal } = context;
  const config = await readConfig(context);
  refuseOwnSources(config);
  const { sources, clients } = chooseAgent(config, undefined).memorySearch;
  const wanted = [...new Set(names)] as ClientSource[];
  const surveys = await surveyClients({ folders: clients.folders, projectDir: cwd, signal });
  const listed = surveys.filter(({ source }) => wanted.includes(source));
  const [scope, keep] = [options.scope ?? clients.scope, options.keep ?? clients.keep];
  const says = (line: string): void => void (options.json !== true && output.stderr.write(`${line}\n`));
  says("These files are read in place, never changed, and indexed in the state folder:");
  for (const survey of listed) says(`  ${survey.source}: ${describeSurvey(survey)} · ${describeFolders(survey, env)}`);
  says(
    scope === "all"
      ? "They are searched from every folder, in your own sessions only."
      : "They are searched from their own project, in your own sessions only.",
  );
  says(
    keep
      ? "A copy of the messages is kept, with secrets redacted."
      : "Conversations that these agents delete are no longer found.",
  );
  if (options.yes !== true) {
    if (stdin.isTTY !== true)
      throw new UsageError(
        "nothing was done because stdin is not a terminal: run it with --yes to confirm the plan above",
      );
    if (!(await confirm(context, "Search them?", { usual: "no" }))) {
      output.print("Nothing was changed.");
      return ExitCode.ok;
    }
  }
  const file = fileToEdit(config);
  const group = await searchGroupIn(file);
  const list = sources.filter((source) => source !== "journal");
  const edits: ConfigEdit[] = [
    // Without a list, the default list applies.
    ...[...list, ...wanted].map((source): ConfigEdit => ({ key: [...group, "sources"], with: source })),
    ...(options.scope === undefined ? [] : [{ key: [...group, "clients", "scope"], value: options.scope } as const]),
    ...(options.keep === undefined ? [] : [{ key: [...group, "clients", "keep"], value: options.keep } as const]),
  ];
  await editConfigFile(file, edits, { stateDir: config.stateDir });
  if (options.json === true) output.printJson({ ok: true, file, added: wanted, scope, keep, sources: listed });
  else output.print(`Written to ${printable(file)}. Index them now: memslot memory index`);
  return ExitCode.ok;
}

export interface SourcesRemoveOptions extends CommonOptions {
  forget?: boolean;
  yes?: boolean;
}

/** `memslot sources remove`: removes sources from the configuration, and their kept copies with `--forget`. */
export async function sourcesRemove(
  context: CommandContext,
  options: SourcesRemoveOptions,
  ...names: string[]
): Promise<number> {
  const { output, stdin } = context;
  const config = await readConfig(context);
  const { stateDir, agents } = config;
  refuseOwnSources(config);
  const wanted = [...new Set(names)];
  const copies = agents
    .flatMap(({ id }) => wanted.map((source) => path.join(stateDir, "agents", id, "kept", source)))
    .filter((folder) => existsSync(folder));
  if (options.forget === true && copies.length > 0 && options.yes !== true) {
    if (stdin.isTTY !== true)
      throw new UsageError(
        "nothing was done because stdin is not a terminal: run it with --yes to delete the kept copies",
      );
    if (!(await confirm(context, `Delete the kept copies: ${printable(copies.join(", "))}?`, { usual: "no" }))) {
      output.print("Nothing was changed.");
      return ExitCode.ok;
    }
  }
  const file = fileToEdit(config);
  if (existsSync(file)) {
    const group = await searchGroupIn(file);
    const left = chooseAgent(config, undefined).memorySearch.sources.filter((source) => !wanted.includes(source));
    const edits: ConfigEdit[] = [
      // An empty list would mean the default list.
      ...(left.every((source) => source === "journal")
        ? [{ key: [...group, "sources"], with: "memory" } as const]
        : []),
      ...wanted.map((source): ConfigEdit => ({ key: [...group, "sources"], without: source })),
    ];
    await editConfigFile(file, edits, { stateDir });
  }
  const forgotten = options.forget === true ? copies : [];
  for (const folder of forgotten) await rm(folder, { recursive: true, force: true });
  if (options.json === true) output.printJson({ ok: true, file, removed: wanted, forgotten });
  else {
    output.print(`${wanted.join(", ")}: no longer searched. The next scan removes them from the index.`);
    if (forgotten.length > 0) output.print("The kept copies are deleted.");
    else if (copies.length > 0)
      output.print(`Kept copies stay in ${printable(copies.join(", "))}; --forget deletes them.`);
  }
  return ExitCode.ok;
}
