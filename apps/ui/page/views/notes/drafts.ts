import type { NoteContent } from "@memslot/agent-kit";
import { effect, signal } from "@preact/signals";
import { facts } from "../../state/api-client.ts";
import { keep, keptJson, keptNames, unkeep, unstored } from "../../state/preferences.ts";

/** An unsaved text of a note. */
export interface Draft {
  text: string;
  /** The state on disk that it was made from and may replace. */
  base: NoteContent;
  /** The changes on disk were merged into it: the editor marks where it differs from `base`. */
  isMerged?: boolean | undefined;
}

/** By note path. Kept in this browser until they are saved or discarded. */
export const drafts = signal<ReadonlyMap<string, Draft>>(new Map());

export function keepDraft(path: string, draft: Draft | undefined): void {
  const next = new Map(drafts.value);
  const name = prefix() + path;
  if (draft === undefined) {
    next.delete(path);
    unkeep(name);
  } else {
    next.set(path, draft);
    keep(name, JSON.stringify(draft));
  }
  drafts.value = next;
}

export function isChanged(draft: Draft | undefined): boolean {
  return draft !== undefined && draft.text !== draft.base.text;
}

/** One origin can serve several workspaces, one after the other. */
function prefix(): string {
  return `draft ${facts.value?.workspaceDir ?? ""} `;
}

effect(() => {
  if (facts.value === undefined) return;
  const own = prefix();
  const found = keptNames(own).flatMap((name): [string, Draft][] => {
    const draft = keptJson(name) as Partial<Draft> | undefined | null;
    const isDraft = typeof draft?.text === "string" && typeof draft.base?.text === "string";
    return isDraft ? [[name.slice(own.length), draft as Draft]] : [];
  });
  drafts.value = new Map([...found, ...drafts.peek()]);
});

// The browser asks before it leaves a page whose drafts it did not keep.
addEventListener("beforeunload", (event) => {
  if (unstored.keys().some((name) => name.startsWith("draft "))) event.preventDefault();
});
