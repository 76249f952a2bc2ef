import { type ChangePlace, type NoteChangeRecord, restoreNote, undoChange } from "@memslot/agent-kit";
import type { CommandContext } from "../../command-context.ts";
import { ExitCode } from "../../terminal/exit-code.ts";
import { changePlace } from "./change-place.ts";

export interface UndoCommandOptions {
  agent?: string;
  json?: boolean;
}

/** `memslot undo [ID]`: takes a change of an agent back. */
export async function undo(context: CommandContext, options: UndoCommandOptions, id?: string): Promise<number> {
  return await takenBack(context, options, "undo", (place) => undoChange(place, id));
}

/** `memslot restore [ID]`: brings back what an agent has forgotten. */
export async function restore(context: CommandContext, options: UndoCommandOptions, id?: string): Promise<number> {
  return await takenBack(context, options, "restore", (place) => restoreNote(place, id));
}

async function takenBack(
  context: CommandContext,
  options: UndoCommandOptions,
  name: "undo" | "restore",
  run: (place: ChangePlace) => Promise<NoteChangeRecord>,
): Promise<number> {
  const change = await run(await changePlace(context, options, `memslot ${name}`));
  if (options.json === true) context.output.printJson(change);
  else {
    const what = name === "undo" ? `Change ${change.undoes} is taken back` : `What ${change.undoes} forgot is back`;
    context.output.print(`${what}: ${change.path}:${change.startLine}. memslot undo ${change.id} would do it again.`);
  }
  return ExitCode.ok;
}
