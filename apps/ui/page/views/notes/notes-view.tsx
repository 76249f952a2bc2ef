import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import { Icon, IconButton, Loading } from "../../components/common-components.tsx";
import { useShortcuts } from "../../components/shortcuts.ts";
import { go, goWith, pathname, query } from "../../state/page-address.ts";
import { facts } from "../../state/api-client.ts";
import { useNotes } from "../../state/notes-list.ts";
import { t } from "../../words/translate.ts";
import { citationIn, noteAt, noteHref } from "./note-addresses.ts";
import { noteAction, NoteDialog } from "./note-dialog.tsx";
import { NotePane } from "./note-pane.tsx";
import { NoNotes } from "./no-notes.tsx";
import { NotesTree } from "./notes-tree.tsx";

import "./notes.css";

/** The notes in their folders, and the open one. */
export default function NotesView(): VNode {
  const { data, error } = useNotes();
  const open = noteAt(pathname.value, query.value);
  const isWide = matchMedia("(min-width: 60.01rem)").matches;
  const filter = query.value.get("filter") ?? "";
  const isFixed = facts.value?.readOnly === true;
  const create = (): void => {
    if (!isFixed) noteAction.value = { action: "create", path: "memory/" };
  };
  // Back closes the dialog.
  useEffect(() => () => void (noteAction.value = undefined), [open]);
  useShortcuts([
    { keys: "n", label: "notes.create", run: create },
    { keys: "Escape", label: "keys.back", run: () => document.querySelector<HTMLElement>(".tree")?.focus() },
  ]);
  if (data === undefined) return <Loading error={error} lines={9} />;
  const files = data.notes ?? [];
  const setFilter = (text: string): void => {
    const citation = citationIn(text);
    if (citation !== undefined && data.byPath.has(citation.path)) go(noteHref(citation.path, { line: citation.line }));
    else goWith({ filter: text }, { replace: true });
  };
  const pinned = ["MEMORY.md", "USER.md", `memory/${facts.value?.today}.md`].filter((path) => data.byPath.has(path));
  // Beside the list there is always a note.
  const shown = open ?? (isWide ? (pinned[0] ?? files[0]?.path) : undefined);
  return (
    <div class={open === undefined ? "split notes" : "split notes has-detail"}>
      <aside class="list">
        <p class="row">
          <input
            class="grow"
            type="search"
            aria-label={t("notes.filter")}
            placeholder={t("notes.filter")}
            value={filter}
            onInput={(event) => setFilter(event.currentTarget.value)}
          />
          {!isFixed && <IconButton icon="file-plus" label={t("notes.create")} onClick={create} />}
        </p>
        <ul class="rows" aria-label={t("home.pinned")}>
          {pinned.map((path) => (
            <li key={path}>
              <a href={noteHref(path)} aria-current={path === shown ? "page" : undefined}>
                <Icon name={path.includes("/") ? "file-clock" : "pin"} />
                <span class="line">{path.includes("/") ? t("notes.today") : path}</span>
              </a>
            </li>
          ))}
        </ul>
        {data.notes && <p class="faint small">{t("notes.count", { count: files.length, all: data.fileCount })}</p>}
        <NotesTree files={files} filter={filter} open={open} />
        <a class="button quiet small" href="/health">
          {t("notes.leftOut.title")}
        </a>
      </aside>
      <div class="detail">
        {open !== undefined && (
          <a class="back button quiet" href="/notes">
            <Icon name="arrow-left" /> {t("keys.back")}
          </a>
        )}
        {shown !== undefined ? (
          <NotePane path={shown} key={shown} />
        ) : files.length === 0 ? (
          <NoNotes />
        ) : (
          <h1 class="hidden">{t("nav.notes")}</h1>
        )}
      </div>
      {noteAction.value && <NoteDialog {...noteAction.value} />}
    </div>
  );
}
