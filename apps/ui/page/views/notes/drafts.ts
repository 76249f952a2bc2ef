import { signal } from "@preact/signals";
import type { NoteContent } from "@memslot/agent-kit";

export interface Draft {
  text: string;
  /** The state that it was made from and may replace. */
  base: NoteContent;
  /** The text before the merge. */
  mine?: string | undefined;
}

/** By note path. Changing the note or view loses none. */
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

// Leaving the page loses them: the browser asks first.
addEventListener("beforeunload", (event) => {
  if ([...drafts.value.values()].some((draft) => isChanged(draft))) event.preventDefault();
});
