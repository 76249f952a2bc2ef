import { mkdir } from "node:fs/promises";
import path from "node:path";
import { existsSync, readFileSync } from "node:fs";
import { importNotes, type ImportedNote, type ImportState, localClock } from "@memslot/agent-kit";
import json5 from "json5";
import { MemoryError } from "@memslot/core";
import { changeConfigFile, homeDir } from "@memslot/core/host";
import type { CommandContext, CommonOptions } from "../command-context.ts";
import { readChatGpt } from "../import/chatgpt.ts";
import { claudeKept, readClaude } from "../import/claude.ts";
import { createNoteMaker, type LeftOut } from "../import/exported-conversation.ts";
import { readConversations } from "../import/export-file.ts";
import { chooseAgent } from "../open/choose-agents.ts";
import { readConfig } from "../open/read-config.ts";
import { counted } from "../open/scan-summary.ts";
import { ExitCode, UsageError } from "../terminal/exit-code.ts";
import { printable } from "../terminal/output.ts";
import { readOpenClaw } from "../import/openclaw.ts";

export interface ImportCommandOptions extends CommonOptions {
  dryRun?: boolean;
  again?: boolean;
}

const sources = new Map([
  ["chatgpt", { product: "ChatGPT", read: readChatGpt }],
  ["claude", { product: "Claude", read: readClaude }],
]);
const saidEvery = 500;

/** `memslot import chatgpt|claude FILE`: writes the conversations of an export as notes. */
export async function importExport(
  context: CommandContext,
  options: ImportCommandOptions,
  name = "",
  file = "",
): Promise<number> {
  const { output, signal, cwd } = context;
  if (name === "openclaw") return await importOpenClaw(context, options, file);
  const source = sources.get(name);
  if (source === undefined)
    throw new UsageError(`${JSON.stringify(name)} is not a source: use ${[...sources.keys()].join(", ")} or openclaw`);
  if (file === "") throw new UsageError(`name the export: memslot import ${name} export.zip`);
  const config = await readConfig(context);
  const agent = chooseAgent(config, options.agent);
  context.onAgent(agent.id);

  const leftOut: LeftOut = new Map();
  const { product, read } = source;
  const clock = localClock(agent.userTimezone);
  const makeNote = createNoteMaker({ product, timeZone: agent.userTimezone });
  async function* notes(): AsyncGenerator<ImportedNote> {
    const given = { file: path.resolve(cwd, file), product, read, leftOut, signal };
    for await (const conversation of readConversations(given)) yield makeNote(conversation);
    if (name === "claude") yield* claudeKept({ file: given.file, dayOf: (at) => clock(at).day, leftOut });
  }
  // A default workspace is created if it is missing.
  if (context.workspace === undefined && options.dryRun !== true)
    await mkdir(agent.workspaceDir, { recursive: true, mode: 0o700 });
  let seen = 0;
  const { folder, counts, edited } = await importNotes({
    workspaceDir: agent.workspaceDir,
    stateDir: config.stateDir,
    settings: agent.memorySearch,
    source: name,
    notes: notes(),
    dryRun: options.dryRun,
    again: options.again,
    onNote: () => {
      if (++seen % saidEvery === 0 && options.json !== true) output.notice(`${seen} conversations`);
    },
    signal,
  });

  if (options.json === true)
    output.printJson({
      workspaceDir: agent.workspaceDir,
      folder,
      dryRun: options.dryRun === true,
      counts,
      edited,
      leftOut: Object.fromEntries(leftOut),
    });
  else
    output.print(
      described({
        folder: path.join(agent.workspaceDir, folder),
        counts,
        edited,
        leftOut,
        isDry: options.dryRun === true,
      }),
    );
  return ExitCode.ok;
}

function described(done: {
  folder: string;
  counts: Record<ImportState, number>;
  edited: readonly string[];
  leftOut: LeftOut;
  isDry: boolean;
}): string {
  const { added, changed, unchanged, deleted } = done.counts;
  const lines = [
    `${printable(done.folder)}: ${counted(added, "conversation")} ${done.isDry ? "would be added" : "added"}, ${changed} updated, ${unchanged} unchanged.`,
  ];
  if (done.edited.length > 0)
    lines.push(
      `Not updated because they were edited: ${done.edited.length}`,
      ...done.edited.slice(0, 10).map((note) => `  ${printable(note)}`),
    );
  if (deleted > 0) lines.push(`Skipped because they were deleted: ${deleted}. Use --again to import them again.`);
  if (done.leftOut.size > 0)
    lines.push("Skipped:", ...[...done.leftOut].map(([reason, count]) => `  ${printable(reason)}: ${count}`));
  if (done.isDry) lines.push("Nothing was written.");
  return lines.join("\n");
}

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
