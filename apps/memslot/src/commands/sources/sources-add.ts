import { type ClientSource, type ConfigEdit, editConfigFile, fileToEdit, searchGroupIn } from "@memslot/core";
import { surveyClients } from "@memslot/indexing";
import type { CommandContext } from "../../command-context.ts";
import { chooseAgent } from "../../open/agents.ts";
import { readConfig } from "../../open/read-config.ts";
import { confirm } from "../../terminal/confirm.ts";
import { ExitCode } from "../../terminal/exit-code.ts";
import { printable } from "../../terminal/printable.ts";
import { UsageError } from "../../terminal/usage-error.ts";
import { refuseOwnSources } from "./own-sources.ts";
import { describeFolders, describeSurvey } from "./describe-survey.ts";

export interface SourcesAddOptions {
  scope?: "project" | "all";
  keep?: boolean;
  yes?: boolean;
  json?: boolean;
}

/** `memslot sources add`: says how much there is, asks, and writes the sources into the configuration. */
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
  says("Read in place, with nothing changed there, and indexed in the state folder of memslot:");
  for (const survey of listed) says(`  ${survey.source}: ${describeSurvey(survey)} · ${describeFolders(survey, env)}`);
  says(
    scope === "all"
      ? "Found from every folder, by you alone."
      : "Found from the project that they were had in, by you alone.",
  );
  says(
    keep
      ? "A copy of what was said is kept, without what looks like a secret."
      : "What these programs delete is found no more.",
  );
  if (options.yes !== true) {
    if (stdin.isTTY !== true)
      throw new UsageError("nothing was done, as nobody can be asked here: run it with --yes to do what stands above");
    if (!(await confirm(context, "Search them?", { usual: "no" }))) {
      output.print("Nothing was changed.");
      return ExitCode.ok;
    }
  }
  const file = fileToEdit(config);
  const group = await searchGroupIn(file);
  const list = sources.filter((source) => source !== "journal");
  const edits: ConfigEdit[] = [
    // Whoever has no list has the usual one.
    ...[...list, ...wanted].map((source): ConfigEdit => ({ key: [...group, "sources"], with: source })),
    ...(options.scope === undefined ? [] : [{ key: [...group, "clients", "scope"], value: options.scope } as const]),
    ...(options.keep === undefined ? [] : [{ key: [...group, "clients", "keep"], value: options.keep } as const]),
  ];
  await editConfigFile(file, edits, { stateDir: config.stateDir });
  if (options.json === true) output.printJson({ ok: true, file, added: wanted, scope, keep, sources: listed });
  else output.print(`Written to ${printable(file)}. Index them now: memslot memory index`);
  return ExitCode.ok;
}
