import { type ChangePlace, type NoteChangeRecord, restoreNote, undoChange } from "@memslot/agent-kit";
import type { CommandContext } from "../../command-context.ts";
import { ExitCode } from "../../terminal/exit-code.ts";
import { changePlace } from "./change-place.ts";

export interface UndoCommandOptions {
  agent?: string;
  json?: boolean;
}

export async function undo(context: CommandContext, options: UndoCommandOptions, id?: string): Promise<number> {
  return await revert(context, options, "undo", (place) => undoChange(place, id));
}

export async function restore(context: CommandContext, options: UndoCommandOptions, id?: string): Promise<number> {
  return await revert(context, options, "restore", (place) => restoreNote(place, id));
}

async function revert(
  context: CommandContext,
  options: UndoCommandOptions,
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
