import type { CommandContext } from "../../command-context.ts";
import { ExitCode } from "../../terminal/exit-code.ts";
import { type SurveyedPlugin, surveyPlugins } from "../../plugins/survey.ts";
import { readConfig } from "../../open/read-config.ts";
import { table } from "../../format/table.ts";

export interface PluginsListCommandOptions {
  json?: boolean;
}

/** `memslot plugins list`: known plugins with their state, and plugins that can be added. */
export async function pluginsList(context: CommandContext, options: PluginsListCommandOptions): Promise<number> {
  const { output } = context;
  const config = await readConfig(context);
  const { plugins, slotProblem } = await surveyPlugins(config);
  if (options.json === true) {
    const slot = config.plugins.slots.memory ?? null;
    output.printJson({ slot, ...(slotProblem === undefined ? {} : { slotProblem }), plugins });
    return ExitCode.ok;
  }
  const rows = plugins.map((plugin) => [
    plugin.id,
    plugin.kind ?? "",
    plugin.version ?? "",
    plugin.from ?? "",
    describeState(plugin),
  ]);
  output.print(table(["Id", "Kind", "Version", "From", "State"], rows));
  if (slotProblem !== undefined) output.notice(slotProblem);
  return ExitCode.ok;
}

/** The state with its reason, or the command that changes it. */
export function describeState({ state, reason, command }: SurveyedPlugin): string {
  const more = command ?? reason;
  return more === undefined ? state : `${state}: ${more}`;
}
