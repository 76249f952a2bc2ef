import { signal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Icon, languageOf } from "../../components/common-components.tsx";
import { VirtualList } from "../../components/virtual-list.tsx";
import type { NoteName } from "../../state/notes-list.ts";
import { go } from "../../state/page-address.ts";
import { localeName, t } from "../../words/translate.ts";
import { drafts, isChanged } from "./drafts.ts";
import { foldersOf, noteHref } from "./note-addresses.ts";

/** One row of the tree. */
interface TreeRow {
  /** The path; that of a folder ends with `/`. */
  id: string;
  /** Title of a note, or name. */
  name: string;
  level: number;
  /** Among its siblings, from 1. */
  position: number;
  siblings: number;
  /** Of a folder: files in it and below. */
  count?: number | undefined;
  /** Of a folder. */
  expanded?: boolean | undefined;
}

interface TreeProps {
  files: readonly NoteName[];
  filter: string;
  open: string | undefined;
}

/** The height of a row, as `--row` in the styles. */
const rowPixels = matchMedia("(pointer: coarse)").matches ? 44 : 32;
const pageRows = 15;
/** Up to this number of notes all folders are open. */
const fewFiles = 60;

/** Open folders, until the page is reloaded. */
const expanded = signal<ReadonlySet<string>>(new Set());
let isBegun = false;

/** The notes as a tree, by title. */
export function NotesTree({ files, filter, open }: TreeProps): VNode {
  const [active, setActive] = useState<string | undefined>(open);
  const rows = useMemo(() => {
    const wanted = filter.trim().toLocaleLowerCase();
    const fits = ({ path, title = "" }: NoteName): boolean => `${path}\n${title}`.toLocaleLowerCase().includes(wanted);
    // With a filter all matches are shown.
    return treeRows(files.filter(fits), (folder) => wanted !== "" || expanded.value.has(folder));
  }, [files, expanded.value, filter]);
  const current = Math.max(
    0,
    rows.findIndex(({ id }) => id === active),
  );

  useEffect(() => {
    if (!isBegun && files.length > 0) {
      isBegun = true;
      if (files.length <= fewFiles) expand(files.flatMap(({ path }) => foldersOf(path)));
    }
    if (open === undefined) return;
    expand(foldersOf(open));
    setActive(open);
  }, [open, files.length > 0]);

  const choose = (row: TreeRow): void => {
    setActive(row.id);
    if (row.expanded === undefined) go(noteHref(row.id));
    else toggle(row);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const row = rows[current];
    if (row === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const { key } = event;
    const to = rowAfter(key, rows, current);
    if (key === "Enter" || key === " ") choose(row);
    else if (row.expanded !== undefined && key === (row.expanded ? "ArrowLeft" : "ArrowRight")) toggle(row);
    else if (to !== undefined) setActive(to.id);
    else return;
    event.preventDefault();
  };
  return (
    <VirtualList
      class="tree"
      role="tree"
      tabIndex={0}
      aria-label={t("notes.tree")}
      aria-activedescendant={rows.length > 0 ? `tree-${current}` : undefined}
      onKeyDown={onKeyDown}
      items={rows}
      keyOf={({ id }) => id}
      rowPixels={rowPixels}
      current={current}
      rowOf={(row, index) => (
        <div
          id={`tree-${index}`}
          class={`item tree-row${index === current ? " active" : ""}`}
          role="treeitem"
          aria-level={row.level}
          aria-posinset={row.position}
          aria-setsize={row.siblings}
          aria-expanded={row.expanded}
          aria-selected={row.id === open}
          title={row.id}
          lang={languageOf(row.name)}
          style={{ paddingInlineStart: `${row.level * 14 - 8}px` }}
          onClick={() => choose(row)}
        >
          <Icon name={row.expanded === undefined ? "file-text" : row.expanded ? "chevron-down" : "chevron-right"} />
          <span class="line grow">{row.name}</span>
          {isChanged(drafts.value.get(row.id)) && <span class="warn small">● {t("notes.tree.draft")}</span>}
          {row.count !== undefined && <span class="faint small">{row.count}</span>}
        </div>
      )}
    />
  );
}

/** Where a key leads in a tree; letters as in other lists of the page. */
function rowAfter(key: string, rows: readonly TreeRow[], current: number): TreeRow | undefined {
  const level = rows[current]?.level ?? 0;
  const places: Record<string, number> = {
    ArrowDown: current + 1,
    j: current + 1,
    ArrowUp: current - 1,
    k: current - 1,
    Home: 0,
    End: rows.length - 1,
    PageDown: Math.min(rows.length - 1, current + pageRows),
    PageUp: Math.max(0, current - pageRows),
    ArrowRight: rows[current]?.expanded === true ? current + 1 : -1,
    ArrowLeft: rows.findLastIndex((row, index) => index < current && row.level < level),
  };
  return rows[places[key] ?? -1];
}

/** The rows from top to bottom, folders first. Open ones are followed by their own rows. */
function treeRows(all: readonly NoteName[], isOpen: (folder: string) => boolean): TreeRow[] {
  const { compare } = new Intl.Collator(localeName(), { numeric: true, sensitivity: "base" });
  const isFile = ({ id }: { id: string }): number => Number(!id.endsWith("/"));
  return rowsIn("", all, 1);

  function rowsIn(folder: string, files: readonly NoteName[], level: number): TreeRow[] {
    const groups = Map.groupBy(files, ({ path }) => path.slice(0, path.indexOf("/", folder.length) + 1 || undefined));
    const own = [...groups].map(([id, [first, ...more]]) =>
      id.endsWith("/")
        ? { id, name: id.slice(folder.length, -1), count: more.length + 1, expanded: isOpen(id) }
        : { id, name: first === undefined ? id : nameOf(first) },
    );
    const sorted = own.toSorted((a, b) => isFile(a) - isFile(b) || compare(a.name, b.name));
    return sorted.flatMap((each, index) => {
      const row: TreeRow = { ...each, level, position: index + 1, siblings: sorted.length };
      return row.expanded === true ? [row, ...rowsIn(row.id, groups.get(row.id) ?? [], level + 1)] : [row];
    });
  }
}

/** Notes of a day keep their date, by which they are sorted. */
function nameOf({ path, title }: NoteName): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return title === undefined || /^\d{4}-/u.test(name) ? name.replace(/\.md$/iu, "") : title;
}

function expand(folders: readonly string[]): void {
  if (folders.every((folder) => expanded.value.has(folder))) return;
  expanded.value = new Set([...expanded.value, ...folders]);
}

function toggle({ id }: TreeRow): void {
  expanded.value = expanded.value.symmetricDifference(new Set([id]));
}
