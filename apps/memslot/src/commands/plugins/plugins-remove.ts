import { MemoryError } from "@memslot/core";
import type { CommandContext } from "../../command-context.ts";
import { ExitCode } from "../../terminal/exit-code.ts";
import { shellLine } from "../../plugins/install-spec.ts";
import { pluginProject } from "../../plugins/plugin-project.ts";
import { runNpm } from "../../plugins/run-npm.ts";
import { surveyPlugins } from "../../plugins/survey.ts";
import { readConfig } from "../../open/read-config.ts";
import { npmArgs } from "../../plugins/add-plugin.ts";

export interface PluginsRemoveCommandOptions {
  json?: boolean;
}

export async function pluginsRemove(
  context: CommandContext,
  options: PluginsRemoveCommandOptions,
  wanted = "",
): Promise<number> {
  const { output } = context;
  const config = await readConfig(context);
  const project = pluginProject(config);
  const { plugins } = await surveyPlugins(config);
  const names = Object.keys(project.dependencies());
  const isInstalled = (packageName: string | undefined): boolean => names.includes(packageName ?? "");
  const plugin = plugins.find(({ id, packageName }) => id === wanted && isInstalled(packageName));
  const name = plugin?.packageName ?? names.find((each) => each === wanted);
  if (name === undefined) {
    const list = names.length === 0 ? "no plugins are" : `installed: ${names.join(", ")}`;
    throw new MemoryError("PLUGIN", `"${wanted}" is not installed in ${project.folder}; ${list}`);
  }
  if (plugin?.state === "active" || plugin?.state === "in use") {
    const step =
      plugin.kind === "memory" ? "select another first: memslot plugins use memory-core" : "select another one first";
    throw new MemoryError("CONFIG", `"${plugin.id}" is in use (${plugin.reason}); ${step}`);
  }
  const args = npmArgs("uninstall", project, name);
  output.notice(`running: ${shellLine(args)}`);
  await runNpm(context, project.folder, args);
  if (options.json === true) output.printJson({ packageName: name, removed: true });
  else output.print(`${name} is removed. Its index is kept.`);
  return ExitCode.ok;
}
