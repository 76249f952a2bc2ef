import { signal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Icon, languageOf } from "../../components/common-components.tsx";
import { matching } from "../../components/option-list.tsx";
import { VirtualList } from "../../components/virtual-list.tsx";
import type { NoteName } from "../../state/notes-list.ts";
import { go } from "../../state/page-address.ts";
import { localeName, t } from "../../words/translate.ts";
import { drafts, isChanged } from "./drafts.ts";
import { foldersOf, nameOf, noteHref } from "./note-addresses.ts";

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

/** Up to this number of notes all folders are open. */
const fewFiles = 60;
/** Decided with the first list: a new note closes no folders. */
let areFew: boolean | undefined;

const rowPixels = matchMedia("(pointer: coarse)").matches ? 44 : 32;

/** Folders that were opened or closed, until the page is reloaded. */
const chosen = signal<ReadonlyMap<string, boolean>>(new Map());

function setOpen(folders: readonly string[], isOpen: boolean): void {
  chosen.value = new Map([...chosen.peek(), ...folders.map((folder) => [folder, isOpen] as const)]);
}

/** The notes as a tree, by title. */
export function NotesTree(props: { files: readonly NoteName[]; filter: string; open: string | undefined }): VNode {
  const { files, filter, open } = props;
  const [active, setActive] = useState<string | undefined>(open);
  const rows = useMemo(() => {
    const fitting = matching(files, filter, ({ path, title = "" }) => `${title} ${path}`);
    // With a filter all matches are shown.
    const isAllOpen = filter.trim() !== "";
    if (files.length > 0) areFew ??= files.length <= fewFiles;
    return treeRows(fitting, (folder) => isAllOpen || (chosen.value.get(folder) ?? areFew === true));
  }, [files, chosen.value, filter]);
  const found = rows.findIndex(({ id }) => id === active);
  const current = Math.max(0, found);

  useEffect(() => {
    if (open === undefined) return;
    setOpen(foldersOf(open), true);
    setActive(open);
  }, [open]);

  const choose = ({ id, expanded }: TreeRow): void => {
    setActive(id);
    if (expanded === undefined) go(noteHref(id));
    else setOpen([id], !expanded);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const row = rows[current];
    if (row === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const { key } = event;
    const { level, expanded } = row;
    // Letters as in other lists of the page.
    const steps = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: 15, PageUp: -15, Home: -Infinity, End: Infinity };
    const step = { ...steps, ArrowRight: expanded === true ? 1 : 0 }[key];
    const isToggle = expanded !== undefined && key === (expanded ? "ArrowLeft" : "ArrowRight");
    const parent = rows.findLast((each, index) => index < current && each.level < level);
    if (key === "Enter" || key === " " || isToggle) choose(row);
    else if (key === "ArrowLeft" && parent !== undefined) setActive(parent.id);
    else if (step) setActive(rows[Math.max(0, Math.min(rows.length - 1, current + step))]?.id);
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
        : { id, name: first === undefined ? id : labelOf(first) },
    );
    const sorted = own.toSorted((a, b) => isFile(a) - isFile(b) || compare(a.name, b.name));
    return sorted.flatMap((each, index) => {
      const row: TreeRow = { ...each, level, position: index + 1, siblings: sorted.length };
      return row.expanded === true ? [row, ...rowsIn(row.id, groups.get(row.id) ?? [], level + 1)] : [row];
    });
  }
}

/** Notes of a day keep their date, by which they are sorted. */
function labelOf({ path, title = nameOf(path) }: NoteName): string {
  return /^\d{4}-/u.test(nameOf(path)) ? nameOf(path) : title;
}
