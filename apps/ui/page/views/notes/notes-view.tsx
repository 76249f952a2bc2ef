import type { VNode } from "preact";
import { Empty, Failed, Loading } from "../../components/common-components.tsx";
import { go, goWith, pathname, query } from "../../state/page-address.ts";
import { facts } from "../../state/api-client.ts";
import { useNotes } from "../../state/notes-list.ts";
import { t } from "../../words/translate.ts";
import { LeftOut } from "./excluded-files.tsx";
import { NotePane } from "./note-pane.tsx";
import { citationIn, noteAt, noteHref } from "./note-addresses.ts";
import { NotesTree } from "./notes-tree.tsx";

import "./notes.css";

/** The notes in their folders, and the open one. */
export default function NotesView(): VNode {
  const { data, error } = useNotes();
  const open = noteAt(pathname.value, query.value);
  const filter = query.value.get("filter") ?? "";
  if (error) return <Failed error={error} />;
  if (data === undefined) return <Loading />;
  const files = data.notes ?? [];
  const setFilter = (text: string): void => {
    const citation = citationIn(text);
    const isNote = citation !== undefined && files.some(({ path }) => path === citation.path);
    if (isNote) go(noteHref(citation.path, { line: citation.line }));
    else goWith({ filter: text }, { replace: true });
  };
  return (
    <div class={open === undefined ? "notes" : "notes has-note"}>
      <aside>
        <input
          type="search"
          aria-label={t("notes.filter")}
          placeholder={t("notes.filter")}
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
        {data.notes && <p class="faint">{t("notes.count", { count: files.length, all: data.fileCount })}</p>}
        <NotesTree files={files} filter={filter} open={open} />
        {data.notes && <LeftOut />}
      </aside>
      <div class="note-place">
        {open !== undefined ? (
          <NotePane path={open} key={open} />
        ) : files.length === 0 ? (
          <Empty title={t("notes.empty.title")}>
            <p>{t("notes.empty.text", { folder: facts.value?.workspaceDir ?? "" })}</p>
          </Empty>
        ) : (
          <>
            <h1>{t("notes.title")}</h1>
            <p>{t("notes.choose")}</p>
          </>
        )}
      </div>
    </div>
  );
}
