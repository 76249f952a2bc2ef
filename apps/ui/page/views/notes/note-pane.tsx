import type { NoteContent } from "@memslot/agent-kit";
import type { MemoryFileFacts } from "@memslot/core";
import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import { Empty, Icon, Loading, OpenInEditor } from "../../components/common-components.tsx";
import { useShortcuts } from "../../components/shortcuts.ts";
import { facts, pathWith } from "../../state/api-client.ts";
import { refetch, setAnswer, useQuery } from "../../state/queries.ts";
import { goWith, query } from "../../state/page-address.ts";
import { bytes, said, t, when } from "../../words/translate.ts";
import { type Row, Rows } from "../home/day-content.tsx";
import { drafts, keepDraft } from "./drafts.ts";
import { factsPath, linesOf, noteHref, textPath } from "./note-addresses.ts";
import { NoteBody } from "./note-body.tsx";
import { noteAction } from "./note-dialog.tsx";
import { MarkdownEditor, NoteEditor } from "./note-editor.tsx";

/** A note with its buttons, links and backlinks, or its editor. */
export function NotePane({ path }: { path: string }): VNode {
  const asked = textPath(path);
  const { data: note, error } = useQuery<NoteContent>(asked);
  // The text does not wait for them. `null`: not indexed, or unknown to the backend.
  const { data: known } = useQuery<MemoryFileFacts | null>(note && factsPath(path));
  const draft = drafts.value.get(path);
  const isFixed = facts.value?.readOnly === true || note?.fixed !== undefined;
  const edit = (): void => {
    if (note && !isFixed && draft === undefined) keepDraft(path, { text: note.text, base: note });
  };
  const askFor = (action: "create" | "rename" | "trash"): void => void (noteAction.value = { action, path });
  const isEditAsked = query.value.get("edit") === "1";
  useEffect(() => {
    if (!isEditAsked || note === undefined) return;
    edit();
    goWith({ edit: undefined }, { replace: true });
  }, [isEditAsked, note === undefined]);
  useShortcuts([{ keys: "e", label: "keys.edit", run: edit }]);
  if (note === undefined && error?.status !== 404) return <Loading error={error} />;
  if (note === undefined && draft === undefined)
    return (
      <Empty title={t("notes.missing.title")} icon="file-plus">
        <p>{path}</p>
        <button type="button" disabled={isFixed} onClick={() => askFor("create")}>
          {t("notes.create")}
        </button>
      </Empty>
    );
  const onAnswer = (saved?: NoteContent): void => {
    if (saved !== undefined) setAnswer(asked, saved);
    refetch(asked);
  };
  const isRaw = query.value.get("as") === "text";
  const lines = linesOf(query.value.get("line"));
  return (
    <article class="note">
      <header>
        <h1>{path}</h1>
        {note && (
          <p class="faint small">
            {bytes(note.bytes)} · {when(note.modified)}
            {known && ` · ${t("notes.passages", { count: known.passageCount })}`}
            {known === null && ` · ${t("notes.notIndexed")}`}
          </p>
        )}
        {draft === undefined && (
          <p class="row">
            {!isFixed && (
              <>
                <button type="button" onClick={edit}>
                  <Icon name="square-pen" /> {t("notes.edit")}
                </button>
                <button type="button" class="quiet" onClick={() => askFor("rename")}>
                  {t("notes.rename")}
                </button>
                <button type="button" class="quiet" onClick={() => askFor("trash")}>
                  <Icon name="trash-2" /> {t("notes.trash")}
                </button>
              </>
            )}
            <button type="button" class="quiet" onClick={() => goWith({ as: isRaw ? undefined : "text" })}>
              {t(isRaw ? "notes.rendered" : "notes.raw")}
            </button>
            <a class="button quiet" href={pathWith("/changes", { path })}>
              <Icon name="history" /> {t("nav.changes")}
            </a>
            <OpenInEditor path={path} line={lines?.[0]} />
          </p>
        )}
        {note?.problem && <p class="faint">{said(note.problem)}</p>}
      </header>
      {draft ? (
        <NoteEditor path={path} draft={draft} disk={note} asked={lines} onAnswer={onAnswer} />
      ) : isRaw ? (
        <MarkdownEditor key={note?.sha256} text={note?.text ?? ""} asked={lines} />
      ) : (
        <NoteBody path={path} text={note?.text ?? ""} facts={known} asked={lines} />
      )}
      {known && <NoteLinks {...known} />}
    </article>
  );
}

/** The links in a note and those that lead to it, with their number. */
function NoteLinks({ links, linkCount, backlinks, backlinkCount }: MemoryFileFacts): VNode {
  const linkRows = links.map(({ path, target, line }): Row => {
    const ends = [`:${line}`, path === undefined ? t("notes.link.missing") : undefined];
    return { href: path && noteHref(path), icon: "link", text: path ?? target, title: target, ends };
  });
  const backlinkRows = backlinks.map(({ path, line, text }): Row => {
    return { href: noteHref(path, { line }), icon: "link", text: `${path}:${line}`, title: text, ends: [text] };
  });
  const countOf = (part: number, all: number): string | number => (part < all ? t("common.of", { part, all }) : all);
  return (
    <footer class="note-links">
      <section>
        <h2>
          {t("notes.links")} <span class="faint">{countOf(links.length, linkCount)}</span>
        </h2>
        <Rows rows={linkRows} />
      </section>
      <section>
        <h2>
          {t("notes.backlinks")} <span class="faint">{countOf(backlinks.length, backlinkCount)}</span>
        </h2>
        <Rows rows={backlinkRows} />
      </section>
    </footer>
  );
}
