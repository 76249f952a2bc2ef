/** `auto` cites in direct chats only: the path of a note is private. */
export type CitationsMode = "auto" | "on" | "off";

export type ChatType = "direct" | "group";

export function citationsShown(mode: CitationsMode, chatType: ChatType): boolean {
  return mode === "on" || (mode === "auto" && chatType === "direct");
}

/** `path#Lfrom-Lto`, also for a single line, so that one pattern reads them all. */
export function formatCitation(place: { path: string; startLine: number; endLine: number }): string {
  return `${place.path}#L${place.startLine}-L${place.endLine}`;
}

/** For a model that is to make citations of a path and lines. */
export const citationForm = "path#L3-L9";

/** Parses a citation, also as grep, compilers and editors write it: `path#3-9`, `path:3`, `path:3:COLUMN`. Else undefined. */
export function parseCitation(text: string): { path: string; startLine: number; endLine: number } | undefined {
  const cited = /^(.+?)[#:]L?(\d{1,9})(?:-L?(\d{1,9})|:\d+)?:?$/is.exec(text.trim());
  const [, path, first, last = first] = cited ?? [];
  const [startLine, endLine] = [Number(first), Number(last)];
  return path !== undefined && startLine >= 1 && endLine >= startLine ? { path, startLine, endLine } : undefined;
}
