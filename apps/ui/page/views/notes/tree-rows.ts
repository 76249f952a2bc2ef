import type { NoteName } from "../../state/notes-list.ts";

/** One row of the tree. */
export interface TreeRow {
  /** The path; that of a folder ends with `/`. */
  id: string;
  name: string;
  level: number;
  /** Among its siblings, from 1. */
  position: number;
  siblings: number;
  /** Of a folder: files in it and below. */
  count?: number | undefined;
  expanded?: boolean | undefined;
  file?: NoteName | undefined;
}

interface Folder {
  id: string;
  name: string;
  folders: Map<string, Folder>;
  files: NoteName[];
  count: number;
}

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

/** The rows from top to bottom. With a filter all matches are shown, with open folders. */
export function treeRows(files: readonly NoteName[], expanded: ReadonlySet<string>, filter: string): TreeRow[] {
  const wanted = filter.trim().toLocaleLowerCase();
  const root = folderOf("", "");
  for (const file of files) {
    if (wanted !== "" && !fits(file, wanted)) continue;
    let folder = root;
    folder.count++;
    for (const part of file.path.split("/").slice(0, -1)) {
      let next = folder.folders.get(part);
      if (next === undefined) folder.folders.set(part, (next = folderOf(`${folder.id}${part}/`, part)));
      folder = next;
      folder.count++;
    }
    folder.files.push(file);
  }
  const rows: TreeRow[] = [];
  add(root, 1);
  return rows;

  function add(folder: Folder, level: number): void {
    const folders = [...folder.folders.values()].toSorted((a, b) => collator.compare(a.name, b.name));
    const own = folder.files.toSorted((a, b) => collator.compare(a.path, b.path));
    const siblings = folders.length + own.length;
    for (const [index, each] of folders.entries()) {
      const isOpen = wanted !== "" || expanded.has(each.id);
      const { id, name, count } = each;
      rows.push({ id, name, level, position: index + 1, siblings, count, expanded: isOpen });
      if (isOpen) add(each, level + 1);
    }
    for (const [index, file] of own.entries()) {
      const name = file.path.slice(folder.id.length);
      rows.push({ id: file.path, name, level, position: folders.length + index + 1, siblings, file });
    }
  }
}

/** The parent folders of a file, from the top. */
export function foldersOf(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, index) => `${parts.slice(0, index + 1).join("/")}/`);
}

function folderOf(id: string, name: string): Folder {
  return { id, name, folders: new Map(), files: [], count: 0 };
}

function fits({ path, title = "" }: NoteName, wanted: string): boolean {
  return [path, title].some((text) => text.toLocaleLowerCase().includes(wanted));
}
