import { type LoggedChange, listChanges } from "@memslot/agent-kit";
import type { CommandContext } from "../../command-context.ts";
import { ExitCode } from "../../terminal/exit-code.ts";
import { changePlace } from "./change-place.ts";

export interface LogCommandOptions {
  agent?: string;
  max?: number;
  json?: boolean;
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
