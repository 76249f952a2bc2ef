import { existsSync } from "node:fs";
import path from "node:path";
import { type MemslotConfig, foundOrigin, loadConfig, resolveStateDir } from "@memslot/core";
import type { CommandContext } from "../command-context.ts";
import { printable } from "../terminal/printable.ts";
import { findFolder } from "./find-folder.ts";

/**
 * The configuration of this run; its notices go to stderr. With `lookAround` a folder of notes that the command is run in
 * or below stands in for the usual workspace, which is said: for commands that only read notes. What other programs start
 * in folders of theirs says `unlessUsual`: it does so only as long as the usual workspace has not been made. What writes notes
 * keeps to the workspace that the user has chosen.
 */
export async function readConfig(
  context: CommandContext,
  { lookAround = false }: { lookAround?: boolean | "unlessUsual" } = {},
): Promise<MemslotConfig> {
  const { cwd, env, configPath, workspace, output } = context;
  const hasChosen = lookAround === "unlessUsual" && existsSync(path.join(resolveStateDir({ cwd, env }), "workspace"));
  const found = lookAround === false || hasChosen ? undefined : findFolder({ cwd, env });
  const config = await loadConfig({ cwd, env, configPath, workspace, found });
  for (const notice of config.notices) output.notice(notice);
  if (found?.isWorkspace === true && isFound(config))
    output.notice(`workspace: ${printable(found.folder)} (found from the current folder; --workspace names another)`);
  return config;
}

/** Whether the workspace is one that was found around the current folder, and nobody has chosen. */
export function isFound(config: MemslotConfig): boolean {
  return config.describe().some(({ origin }) => origin === foundOrigin);
}
