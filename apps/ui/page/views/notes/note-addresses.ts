import { pathWith } from "../../state/api-client.ts";

/** The address of a note. A path outside the workspace has dots, which an address cannot keep. */
export function noteHref(path: string, where: { line?: string | number | undefined; edit?: boolean } = {}): string {
  const parts = path.split("/");
  const isPlain = parts.every((part) => !["", ".", ".."].includes(part));
  return isPlain
    ? pathWith(`/notes/${parts.map(encodeURIComponent).join("/")}`, where)
    : pathWith("/notes", { file: path, ...where });
}

/** Where the server has the text of a note, and its links and passages. */
export const textPath = (path: string): string => pathWith("/api/notes/file", { path });
export const factsPath = (path: string): string => pathWith("/api/notes/facts", { path });

/** The note of an address; undefined if it has none. */
export function noteAt(pathname: string, query: URLSearchParams): string | undefined {
  const written = pathname.replace(/^\/notes\/?/u, "");
  if (written === "") return query.get("file") ?? undefined;
  return written.split("/").map(decoded).join("/");
}

/** A part of an address as text; one typed by hand may be none. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Reads `path#L12-L14` and `path:12`; the line is `12` or `12-14`. */
export function citationIn(text: string): { path: string; line: string } | undefined {
  const parts = /^\s*(.+?)(?:#L(\d{1,7})(?:-L?(\d{1,7}))?|:(\d{1,7})(?:-(\d{1,7}))?)\s*$/u.exec(text);
  const [, path, hashFrom, hashTo, colonFrom, colonTo] = parts ?? [];
  const [from, to] = [hashFrom ?? colonFrom, hashTo ?? colonTo];
  if (path === undefined || from === undefined) return undefined;
  return { path: path.replace(/^\.\//u, ""), line: to === undefined || to === from ? from : `${from}-${to}` };
}

/** The name of a note without the ending of Markdown. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1).replace(/\.md$/iu, "");
}

/** The parent folders of a file, from the top, each with `/` at its end. */
export function foldersOf(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, index) => `${parts.slice(0, index + 1).join("/")}/`);
}

/** First and last line in an address. */
export function linesOf(text: string | null): readonly [from: number, to: number] | undefined {
  const [, from, to] = /^(\d{1,7})(?:-(\d{1,7}))?$/u.exec(text ?? "") ?? [];
  if (from === undefined) return undefined;
  return [Number(from), Math.max(Number(from), Number(to ?? from))];
}
