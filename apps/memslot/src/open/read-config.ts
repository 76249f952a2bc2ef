import { type MemslotConfig, loadConfig } from "@memslot/core";
import type { CommandContext } from "../command-context.ts";

/** The configuration of this run; its notices go to stderr. */
export async function readConfig(context: CommandContext): Promise<MemslotConfig> {
  const config = await loadConfig({
    cwd: context.cwd,
    env: context.env,
    configPath: context.configPath,
    workspace: context.workspace,
  });
  for (const notice of config.notices) context.output.notice(notice);
  return config;
}
