import { existsSync } from "node:fs";
import path from "node:path";
import { type MemslotConfig, loadConfig } from "@memslot/core";
import { foundOrigin, resolveStateDir } from "@memslot/core/host";
import type { CommandContext } from "../command-context.ts";
import { printable } from "../terminal/output.ts";
import { findFolder } from "./find-notes-folder.ts";

/**
 * Reads the configuration; notices go to stderr. `lookAround`: a found folder of notes replaces the default workspace,
 * for read-only commands; `unlessUsual`: only if the default one does not exist.
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
    output.notice(
      `workspace: ${printable(found.folder)} (detected from the current folder; use --workspace for another)`,
    );
  return config;
}

export function isFound(config: MemslotConfig): boolean {
  return config.describe().some(({ origin }) => origin === foundOrigin);
}
