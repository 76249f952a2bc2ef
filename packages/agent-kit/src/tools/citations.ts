import { type MemorySearchResult, visibleName } from "@memslot/core";
import { frameRecalled } from "./recalled-text.ts";

/** `auto` cites in direct chats only: in a group, where a note stands is nobody else's business. */
export type CitationsMode = "auto" | "on" | "off";

export type ChatType = "direct" | "group";

export function citationsShown(mode: CitationsMode, chatType: ChatType): boolean {
  return mode === "on" || (mode === "auto" && chatType === "direct");
}

/** `path#Lfrom-Lto`, also for a single line, so that one pattern reads them all. */
export function formatCitation(place: { path: string; startLine: number; endLine: number }): string {
  return `${place.path}#L${place.startLine}-L${place.endLine}`;
}

/** Takes a citation apart; undefined for text that is none. `path#L3` stands for one line. */
export function parseCitation(text: string): { path: string; startLine: number; endLine: number } | undefined {
  const [, path, first, last] = /^(.+)#L(\d{1,9})(?:-L?(\d{1,9}))?$/.exec(text.trim()) ?? [];
  if (path === undefined || first === undefined) return undefined;
  const startLine = Number(first);
  const endLine = last === undefined ? startLine : Number(last);
  return startLine >= 1 && endLine >= startLine ? { path, startLine, endLine } : undefined;
}

/** A result with its citation in the field and behind its framed snippet, where a model cannot miss it. */
export function withCitation(result: MemorySearchResult): MemorySearchResult {
  const citation = formatCitation(result);
  const source = `Source: ${visibleName(citation)}`;
  const snippet = frameRecalled(citation, result.snippet);
  return { ...result, citation, snippet: snippet === "" ? source : `${snippet}\n\n${source}` };
}

/** A result as it is shown where citations are off, whatever its backend put there. */
export function withoutCitation(result: MemorySearchResult): MemorySearchResult {
  const { citation: _, ...rest } = result;
  return { ...rest, snippet: frameRecalled("note", result.snippet) };
}
