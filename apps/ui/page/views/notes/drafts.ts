import { signal } from "@preact/signals";
import type { NoteContent } from "@memslot/agent-kit";

/** A text that was typed and is not saved. */
export interface Draft {
  text: string;
  /** What it was made from, and what it may replace. */
  base: NoteContent;
  /** What was typed before the texts were put together. */
  mine?: string | undefined;
}

/** By the paths of the notes. Going to another note, or another view, loses none. */
export const drafts = signal<ReadonlyMap<string, Draft>>(new Map());

export function keepDraft(path: string, draft: Draft | undefined): void {
  const next = new Map(drafts.value);
  if (draft === undefined) next.delete(path);
  else next.set(path, draft);
  drafts.value = next;
}

function isChanged({ text, base }: Draft): boolean {
  return text !== base.text;
}

// Leaving the page does lose them: the browser asks first.
addEventListener("beforeunload", (event) => {
  if ([...drafts.value.values()].some((draft) => isChanged(draft))) event.preventDefault();
});
