import { surveyClients } from "@memslot/indexing";
import type { CommandContext } from "../../command-context.ts";
import { chooseAgent } from "../../open/agents.ts";
import { readConfig } from "../../open/read-config.ts";
import { ExitCode } from "../../terminal/exit-code.ts";
import { printable } from "../../terminal/printable.ts";
import { describeFolders, describeSurvey } from "./describe-survey.ts";

export interface SourcesListOptions {
  json?: boolean;
}

export async function sourcesList(context: CommandContext, options: SourcesListOptions): Promise<number> {
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
