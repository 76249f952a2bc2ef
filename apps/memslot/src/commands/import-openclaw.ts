import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import json5 from "json5";
import { MemoryError } from "@memslot/core";
import { changeConfigFile, homeDir } from "@memslot/core/host";
import type { CommandContext } from "../command-context.ts";
import type { LeftOut } from "../import/conversation.ts";
import { readOpenClaw } from "../import/openclaw.ts";
import { readConfig } from "../open/read-config.ts";
import { ExitCode } from "../terminal/exit-code.ts";
import { printable } from "../terminal/printable.ts";

export async function importOpenClaw(
  context: CommandContext,
  options: { dryRun?: boolean; json?: boolean },
  given: string,
): Promise<number> {
  const { output, cwd, env } = context;
  const { stateDir } = await readConfig(context);
  const leftOut: LeftOut = new Map();
  const place = given === "" ? path.join(homeDir(env), ".openclaw") : path.resolve(cwd, given);
  const found = readOpenClaw(place, { env, leftOut });
  const target = path.join(stateDir, "memslot.json5");
  const text = `// From ${found.file}, by memslot import openclaw.\n${json5.stringify(found.config, { space: 2, quote: '"' })}\n`;
  const there = existsSync(target) ? readFileSync(target, "utf8") : undefined;
  const isDry = options.dryRun === true;
  if (there !== undefined && there !== text && !isDry)
    throw new MemoryError(
      "INVALID_ARGUMENT",
      `${target} already exists with other content: nothing was written. Copy what you need from the output of --dry-run, or move the file away`,
    );
  if (there === undefined && !isDry) await changeConfigFile(target, async () => text, { stateDir });
  const state = isDry ? "planned" : there === undefined ? "written" : "unchanged";
  const outcome = { file: target, state, from: found.file, workspaces: found.workspaces, notices: found.notices };
  if (options.json === true) {
    output.printJson({ ...outcome, config: found.config, leftOut: Object.fromEntries(leftOut) });
    return ExitCode.ok;
  }
  if (isDry) output.print(text);
  const texts = { planned: "would be written", written: "written", unchanged: "already up to date" };
  output.print(`${printable(target)}: ${texts[state]}.`);
  output.print("Workspaces, searched in place:");
  for (const workspace of found.workspaces)
    output.print(`  ${printable(workspace)}${existsSync(workspace) ? "" : " (not found)"}`);
  if (leftOut.size > 0) output.print("Skipped:");
  for (const [reason, count] of leftOut) output.print(`  ${printable(reason)}: ${count}`);
  for (const notice of found.notices) output.notice(notice);
  return ExitCode.ok;
}
