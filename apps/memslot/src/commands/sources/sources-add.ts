import { type ClientSource } from "@memslot/core";
import { type ConfigEdit, editConfigFile, fileToEdit, searchGroupIn } from "@memslot/core/host";
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
