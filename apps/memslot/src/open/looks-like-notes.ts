import { type Dirent, lstatSync, readdirSync } from "node:fs";
import path from "node:path";
import { isMarkdown } from "@memslot/indexing/host";

/** So deep lie the notes of a vault whose top holds nothing but folders, and so many entries are looked at. */
const depth = 2;
const mostEntries = 2000;
/** What notes show: it says nothing of whether a folder is one of notes. */
const shownByNotes = /\.(?:png|jpe?g|gif|webp|svg|heic|pdf|mp[34]|m4a|wav|webm|mov|canvas|base|excalidraw|csv|bib)$/iu;

/** Whether a Markdown file lies in the folder itself. */
export function holdsMarkdown(folder: string): boolean {
  return entriesOf(folder).some((entry) => isNote(entry));
}

/**
 * Whether the folders in a folder hold notes, and hardly anything else: at least half of the files in two levels are Markdown,
 * apart from what notes show. Never true above a repository, a package or somebody else's folder: then it is a place where
 * many things lie, as /tmp is.
 */
export function holdsFoldersOfNotes(folder: string): boolean {
  const owner = ownerOf(folder);
  const seen = { notes: 0, others: 0, entries: 0 };
  return count(folder, depth) && seen.notes > 0 && seen.notes >= seen.others;

  function count(at: string, below: number): boolean {
    for (const entry of entriesOf(at)) {
      if ((seen.entries += 1) > mostEntries) return true;
      if (entry.name === ".git" || entry.name === "package.json") return false;
      if (entry.name.startsWith(".")) continue;
      if (entry.isFile()) {
        if (isNote(entry)) seen.notes += 1;
        else if (!shownByNotes.test(entry.name)) seen.others += 1;
      } else if (entry.isDirectory() && below > 0) {
        const inner = path.join(at, entry.name);
        if (ownerOf(inner) !== owner || !count(inner, below - 1)) return false;
      }
    }
    return true;
  }
}

function ownerOf(folder: string): number | undefined {
  return lstatSync(folder, { throwIfNoEntry: false })?.uid;
}

function isNote(entry: Dirent): boolean {
  return entry.isFile() && !entry.name.startsWith(".") && isMarkdown(entry.name);
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return []; // What cannot be looked into holds no notes to find.
  }
}
