import { signal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { NoteName } from "../../state/notes-list.ts";
import { go } from "../../state/page-address.ts";
import { t } from "../../words/translate.ts";
import { drafts } from "./note-editor.tsx";
import { noteHref } from "./note-addresses.ts";
import { foldersOf, type TreeRow, treeRows } from "./tree-rows.ts";

/** The height of a row in the styles. */
const rowPixels = 30;
const spare = 12;
/** Up to this number of notes all folders are open. */
const fewFiles = 60;

/** Open folders, until the page is reloaded. */
const expanded = signal<ReadonlySet<string>>(new Set());
let isBegun = false;

/** The notes as a tree. Only visible rows are rendered. */
export function NotesTree({
  files,
  filter,
  open,
}: {
  files: readonly NoteName[];
  filter: string;
  open: string | undefined;
}): VNode {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const [active, setActive] = useState<string | undefined>(open);
  const rows = useMemo(() => treeRows(files, expanded.value, filter), [files, expanded.value, filter]);
  const current = Math.max(
    0,
    rows.findIndex(({ id }) => id === active),
  );

  useEffect(() => {
    if (!isBegun && files.length > 0) {
      isBegun = true;
      if (files.length <= fewFiles) expand(...files.flatMap(({ path }) => foldersOf(path)));
    }
    if (open === undefined) return;
    expand(...foldersOf(open));
    setActive(open);
  }, [open, files.length > 0]);
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const look = (): void => setView({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);
  useEffect(() => {
    const element = box.current;
    if (element === null || active === undefined) return;
    const top = current * rowPixels;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowPixels > element.scrollTop + element.clientHeight)
      element.scrollTop = top + rowPixels - element.clientHeight;
  }, [active, current]);

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const to = keyed(event.key, rows, current);
    if (to === undefined) return;
    event.preventDefault();
    if (to.row !== undefined) setActive(to.row.id);
    if (to.toggle !== undefined) toggle(to.toggle);
    if (to.open !== undefined) go(noteHref(to.open));
  };
  const first = Math.max(0, Math.floor(view.top / rowPixels) - spare);
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / rowPixels) + spare);
  // The focused row is always rendered.
  const shown = rows.slice(first, last).map((row, index) => ({ row, index: first + index }));
  const focused = rows[current];
  if (focused !== undefined && (current < first || current >= last)) shown.push({ row: focused, index: current });
  return (
    <div
      ref={box}
      class="tree"
      role="tree"
      tabIndex={0}
      aria-label={t("notes.tree")}
      aria-activedescendant={focused && `tree-${current}`}
      onKeyDown={onKeyDown}
    >
      <div class="tree-rows" role="presentation" style={{ height: `${rows.length * rowPixels}px` }}>
        {shown.map(({ row, index }) => (
          <Row
            key={row.id}
            row={row}
            index={index}
            isOpen={row.id === open}
            isActive={index === current}
            onClick={() => {
              setActive(row.id);
              if (row.file === undefined) toggle(row);
              else go(noteHref(row.id));
            }}
          />
        ))}
      </div>
    </div>
  );
}

function Row({
  row,
  index,
  isOpen,
  isActive,
  onClick,
}: {
  row: TreeRow;
  index: number;
  isOpen: boolean;
  isActive: boolean;
  onClick: () => void;
}): VNode {
  const { name, level, file, count } = row;
  const isDraft = file !== undefined && drafts.value.has(row.id);
  return (
    <div
      id={`tree-${index}`}
      class={`tree-row${isActive ? " active" : ""}`}
      role="treeitem"
      aria-level={level}
      aria-posinset={row.position}
      aria-setsize={row.siblings}
      aria-expanded={row.expanded}
      aria-selected={isOpen}
      title={file?.title === undefined ? row.id : `${file.title}\n${row.id}`}
      style={{ top: `${index * rowPixels}px`, paddingInlineStart: `${level * 14 - 8}px` }}
      onClick={onClick}
    >
      <span class="tree-mark" aria-hidden="true">
        {file !== undefined ? "" : row.expanded ? "▾" : "▸"}
      </span>
      <span class="tree-name">{name}</span>
      {isDraft && <span class="warn">● {t("notes.tree.draft")}</span>}
      {count !== undefined && <span class="faint">{count}</span>}
    </div>
  );
}

/** Key handling of the ARIA tree role. */
function keyed(
  key: string,
  rows: readonly TreeRow[],
  current: number,
): { row?: TreeRow | undefined; toggle?: TreeRow; open?: string } | undefined {
  const row = rows[current];
  if (row === undefined) return undefined;
  const parent = rows.findLastIndex((each, index) => index < current && each.level < row.level);
  switch (key) {
    case "ArrowDown":
      return { row: rows[current + 1] };
    case "ArrowUp":
      return { row: rows[current - 1] };
    case "Home":
      return { row: rows[0] };
    case "End":
      return { row: rows.at(-1) };
    case "PageDown":
      return { row: rows[Math.min(rows.length - 1, current + 15)] };
    case "PageUp":
      return { row: rows[Math.max(0, current - 15)] };
    case "ArrowRight":
      if (row.expanded === false) return { toggle: row };
      return row.expanded === true ? { row: rows[current + 1] } : {};
    case "ArrowLeft":
      return row.expanded === true ? { toggle: row } : { row: rows[parent] };
    case "Enter":
    case " ":
      return row.file === undefined ? { toggle: row } : { open: row.id };
    default:
      return key.length === 1 ? { row: typed(key, rows, current) } : undefined;
  }
}

/** The next row whose name starts with a letter. */
function typed(key: string, rows: readonly TreeRow[], current: number): TreeRow | undefined {
  const order = [...rows.slice(current + 1), ...rows.slice(0, current)];
  return order.find(({ name }) => name.toLocaleLowerCase().startsWith(key.toLocaleLowerCase()));
}

function expand(...folders: readonly string[]): void {
  if (folders.every((folder) => expanded.value.has(folder))) return;
  expanded.value = new Set([...expanded.value, ...folders]);
}

function toggle({ id, expanded: isOpen }: TreeRow): void {
  const next = new Set(expanded.value);
  if (isOpen === true) next.delete(id);
  else next.add(id);
  expanded.value = next;
}
