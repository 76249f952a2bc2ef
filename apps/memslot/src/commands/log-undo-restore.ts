import {
  type ChangePlace,
  type LoggedChange,
  listChanges,
  type NoteChangeRecord,
  restoreNote,
  undoChange,
} from "@memslot/agent-kit";
import type { CommandContext, CommonOptions } from "../command-context.ts";
import { chooseAgent } from "../open/choose-agents.ts";
import { readConfig } from "../open/read-config.ts";
import { ExitCode } from "../terminal/exit-code.ts";

export async function changePlace(context: CommandContext, options: CommonOptions, by: string): Promise<ChangePlace> {
  const config = await readConfig(context, { lookAround: true });
  const agent = chooseAgent(config, options.agent);
  context.onAgent(agent.id);
  return {
    workspaceDir: agent.workspaceDir,
    settings: agent.memorySearch,
    stateDir: config.stateDir,
    changer: { agentId: agent.id, by },
    at: new Date(),
    signal: context.signal,
  };
}

export interface LogCommandOptions extends CommonOptions {
  max?: number;
}

const maxShown = 160;

export async function log(context: CommandContext, options: LogCommandOptions): Promise<number> {
  const { output } = context;
  const all = (await listChanges(await changePlace(context, options, "memslot log"))).toReversed();
  const { max = options.json === true ? all.length : 20 } = options;
  const changes = all.slice(0, max);
  if (options.json === true) output.printJson(changes);
  else if (changes.length === 0) output.print("No changes by agents.");
  else output.print(changes.map(described).join("\n\n"));
  if (options.json !== true && changes.length < all.length)
    output.print(`\n${all.length - changes.length} older changes: memslot log -n ${all.length}`);
  return ExitCode.ok;
}

function described(change: LoggedChange): string {
  const { id, at, kind, path, startLine, by, session, agentId, state, reason, undoes } = change;
  const who = `${by}, agent ${agentId}${session === undefined ? "" : `, session ${session}`}`;
  const told = state === "done" ? "" : ` (${state})`;
  const what = undoes === undefined ? kind : `${kind} of ${undoes}`;
  return [
    `${id}  ${at}  ${what}  ${path}:${startLine}${told}  by ${who}`,
    ...(reason === undefined ? [] : [`  reason: ${reason}`]),
    ...shown("-", change.before),
    ...shown("+", change.after),
  ].join("\n");
}

function shown(sign: string, text: string): string[] {
  const lines = text.split(/\r?\n/u);
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => `  ${sign} ${line.length > maxShown ? `${line.slice(0, maxShown)}…` : line}`);
}

export async function undo(context: CommandContext, options: CommonOptions, id?: string): Promise<number> {
  return await revert(context, options, "undo", (place) => undoChange(place, id));
}

export async function restore(context: CommandContext, options: CommonOptions, id?: string): Promise<number> {
  return await revert(context, options, "restore", (place) => restoreNote(place, id));
}

async function revert(
  context: CommandContext,
  options: CommonOptions,
  name: "undo" | "restore",
  run: (place: ChangePlace) => Promise<NoteChangeRecord>,
): Promise<number> {
  const change = await run(await changePlace(context, options, `memslot ${name}`));
  if (options.json === true) context.output.printJson(change);
  else {
    const what = name === "undo" ? `Undid change ${change.undoes}` : `Restored the lines of ${change.undoes}`;
    context.output.print(`${what}: ${change.path}:${change.startLine}. To revert this, run memslot undo ${change.id}.`);
  }
  return ExitCode.ok;
}
