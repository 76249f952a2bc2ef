import type { MemslotConfig } from "@memslot/core";
import type { FoundPlugin } from "@memslot/core/host";
import type { CommandContext } from "../../command-context.ts";
import { readConfig } from "../../open/read-config.ts";
import { addPlugin, npmArgs } from "../../plugins/add-plugin.ts";
import { howToChoose } from "../../plugins/choose.ts";
import { installSpec, shellLine } from "../../plugins/install-spec.ts";
import { pluginProject } from "../../plugins/plugin-project.ts";
import { versionIn } from "../../plugins/survey.ts";
import { ExitCode } from "../../terminal/exit-code.ts";

export interface PluginsAddCommandOptions {
  print?: boolean;
  json?: boolean;
}

export async function pluginsAdd(
  context: CommandContext,
  options: PluginsAddCommandOptions,
  typed = "",
): Promise<number> {
  const { output } = context;
  const config = await readConfig(context);
  const wanted = installSpec(typed, context);
  const project = pluginProject(config);
  const args = npmArgs("install", project, wanted.spec);
  if (options.print === true) {
    if (options.json === true) output.printJson({ command: shellLine(args), folder: project.folder });
    else output.print(shellLine(args));
    return ExitCode.ok;
  }
  return report(context, options, { ...(await addPlugin(context, config, wanted)), config });
}

function report(
  { output }: CommandContext,
  { json }: PluginsAddCommandOptions,
  { plugin, config, isNew }: { plugin: FoundPlugin; config: MemslotConfig; isNew: boolean },
): number {
  const { id, kind, packageName, place } = plugin;
  const version = versionIn(place);
  const choice = howToChoose(kind, id);
  const next = kind === "memory" ? choice : `${choice} in ${config.file ?? "memslot.json5"}`;
  if (json === true) output.printJson({ id, kind, packageName, version, place, installed: isNew, next });
  else {
    output.print(
      `${id}${version === undefined ? "" : ` ${version}`} is ${isNew ? "installed" : "already installed"}: ${place}`,
    );
    output.print(`Next: ${next}`);
  }
  return ExitCode.ok;
}
