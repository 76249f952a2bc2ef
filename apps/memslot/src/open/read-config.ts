import { type MemslotConfig, foundOrigin, loadConfig } from "@memslot/core";
import type { CommandContext } from "../command-context.ts";
import { printable } from "../terminal/printable.ts";
import { findFolder } from "./find-folder.ts";

/**
 * The configuration of this run; its notices go to stderr. With `lookAround` a folder of notes that the command is run in
 * or below stands in for the usual workspace, which is said: for commands that only read notes. What writes them, or
 * is started by other programs in folders of theirs, keeps to the workspace that the user has chosen.
 */
export async function readConfig(
  context: CommandContext,
  { lookAround = false }: { lookAround?: boolean } = {},
): Promise<MemslotConfig> {
  const { cwd, env, configPath, workspace, output } = context;
  const found = lookAround ? findFolder({ cwd, env }) : undefined;
  const config = await loadConfig({ cwd, env, configPath, workspace, found });
  for (const notice of config.notices) output.notice(notice);
  if (found?.isWorkspace === true && config.describe().some(({ origin }) => origin === foundOrigin))
    output.notice(`workspace: ${printable(found.folder)} (found from the current folder; --workspace names another)`);
  return config;
}
