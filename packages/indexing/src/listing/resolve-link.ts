import path from "node:path";
import type { MemoryFile, NoteLink } from "@memslot/core";
import { markdownEndings } from "../files/folder/markdown-name.ts";

/** Where a link leads, and to which heading there. */
export interface LinkEnd {
  path?: string | undefined;
  heading?: string | undefined;
}

type NamedFile = Pick<MemoryFile, "path" | "title" | "aliases">;

/**
 * Finds the notes that links lead to, as Obsidian does: by path, by file name wherever it lies, or by another name that
 * the note has. Of several the one in the same folder, or the one with the shortest path.
 */
export function createLinkResolver(files: readonly NamedFile[]): (from: string, link: NoteLinkTarget) => LinkEnd {
  const byPath = new Map<string, string>();
  const byName = new Map<string, string[]>();
  const byOtherName = new Map<string, string[]>();
  const add = (table: Map<string, string[]>, name: string, file: string): void => {
    const known = table.get(name);
    if (known === undefined) table.set(name, [file]);
    else known.push(file);
  };
  for (const { path: file, title, aliases = [] } of files) {
    byPath.set(folded(file), file);
    add(byName, path.posix.basename(withoutEnding(folded(file))), file);
    for (const name of title === undefined ? aliases : [...aliases, title]) add(byOtherName, folded(name), file);
  }
  const at = (place: string): string | undefined => {
    const wanted = folded(path.posix.normalize(place));
    for (const ending of ["", ...markdownEndings]) {
      const found = byPath.get(wanted + ending);
      if (found !== undefined) return found;
    }
    return undefined;
  };

  function wiki(from: string, target: string): string | undefined {
    const folder = path.posix.dirname(from);
    const exact = at(target.replace(/^\/+/u, "")) ?? at(path.posix.join(folder, target));
    if (exact !== undefined) return exact;
    const wanted = withoutEnding(folded(target)).replace(/^\/+/u, "");
    const named = (byName.get(path.posix.basename(wanted)) ?? []).filter((file) =>
      `/${withoutEnding(folded(file))}`.endsWith(`/${wanted}`),
    );
    return nearest(named, folder) ?? nearest(byOtherName.get(folded(target)) ?? [], folder);
  }

  return (from, { kind, target }) => {
    const { place, heading } = parts(kind, target);
    if (place === "") return { path: from, heading };
    if (kind === "wiki") return { path: wiki(from, place), heading };
    const written = decoded(place);
    const own = written.startsWith("/") ? written.slice(1) : path.posix.join(path.posix.dirname(from), written);
    return { path: at(own), heading };
  };
}

type NoteLinkTarget = Pick<NoteLink, "kind" | "target">;

function parts(kind: NoteLink["kind"], target: string): { place: string; heading: string | undefined } {
  const mark = target.indexOf("#");
  const before = mark < 0 ? target : target.slice(0, mark);
  const heading =
    mark < 0
      ? ""
      : decoded(
          target
            .slice(mark + 1)
            .split("#")
            .at(-1) ?? "",
        );
  const place = kind === "wiki" ? before.trim() : before.replace(/\?.*$/u, "");
  return { place, heading: heading === "" ? undefined : heading };
}

function nearest(files: readonly string[], folder: string): string | undefined {
  return files.toSorted(
    (a, b) =>
      Number(path.posix.dirname(b) === folder) - Number(path.posix.dirname(a) === folder) ||
      a.length - b.length ||
      (a < b ? -1 : 1),
  )[0];
}

function withoutEnding(name: string): string {
  const ending = markdownEndings.find((each) => name.endsWith(each));
  return ending === undefined ? name : name.slice(0, -ending.length);
}

function folded(name: string): string {
  return name.normalize("NFC").toLowerCase();
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // A plain name that holds a `%`.
  }
}
