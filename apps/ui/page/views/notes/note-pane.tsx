import type { NoteContent } from "@memslot/agent-kit";
import type { MemoryFileFacts } from "@memslot/core";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Empty, Icon, Loading } from "../../components/common-components.tsx";
import { OpenInEditor } from "../../components/open-in-editor.tsx";
import { useShortcuts } from "../../components/shortcuts.ts";
import { pathWith, facts } from "../../state/api-client.ts";
import { refetch, useQuery } from "../../state/queries.ts";
import { goWith, query } from "../../state/page-address.ts";
import { bytes, t, when } from "../../words/translate.ts";
import { drafts, keepDraft } from "./drafts.ts";
import { linesOf, noteHref } from "./note-addresses.ts";
import { NoteBody } from "./note-body.tsx";
import { NoteDialog } from "./note-dialog.tsx";
import { MarkdownEditor, NoteEditor } from "./note-editor.tsx";

/** A note with its buttons, links and backlinks, or its editor. */
export function NotePane({ path }: { path: string }): VNode {
  const asked = pathWith("/api/notes/file", { path });
  const { data: note, error } = useQuery<NoteContent>(asked);
  // The text does not wait for them.
  const { data: known } = useQuery<MemoryFileFacts | null>(note && pathWith("/api/notes/facts", { path }));
  const [action, setAction] = useState<"create" | "rename" | "trash" | undefined>(undefined);
  const draft = drafts.value.get(path);
  const isFixed = facts.value?.readOnly === true || note?.fixed !== undefined;
  const edit = (): void => {
    if (note && !isFixed && draft === undefined) keepDraft(path, { text: note.text, base: note });
  };
  const isEditAsked = query.value.get("edit") === "1";
  useEffect(() => {
    if (!isEditAsked || note === undefined) return;
    edit();
    goWith({ edit: undefined }, { replace: true });
  }, [isEditAsked, note === undefined]);
  useShortcuts([{ keys: "e", label: "keys.edit", run: edit }]);
  const isGone = error?.status === 404;
  if (note === undefined && !isGone) return <Loading error={error} />;
  const close = (): void => setAction(undefined);
  const dialog = action && <NoteDialog action={action} path={path} note={note} facts={known} onClose={close} />;
  if (draft === undefined && note === undefined)
    return (
      <Empty title={t("notes.missing.title")} icon="file-plus">
        <p>{path}</p>
        <button type="button" disabled={isFixed} onClick={() => setAction("create")}>
          {t("notes.create")}
        </button>
        {dialog}
      </Empty>
    );
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
                <button type="button" class="quiet" onClick={() => setAction("rename")}>
                  {t("notes.rename")}
                </button>
                <button type="button" class="quiet" onClick={() => setAction("trash")}>
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
        {note?.fixed !== undefined && <p class="faint">{note.fixed}</p>}
      </header>
      {draft !== undefined ? (
        <NoteEditor path={path} draft={draft} disk={note} asked={lines} onAnswer={() => refetch(asked)} />
      ) : isRaw ? (
        <MarkdownEditor key={note?.sha256} text={note?.text ?? ""} asked={lines} />
      ) : (
        <NoteBody path={path} text={note?.text ?? ""} facts={known} asked={lines} />
      )}
      {known && (
        <footer class="note-links">
          <LinkList
            title="notes.links"
            count={known.linkCount}
            links={known.links.map(({ path: to, target, line }) => ({
              href: to && noteHref(to),
              name: to ?? target,
              beside: `:${line} ${to === undefined ? t("notes.link.missing") : ""}`,
            }))}
          />
          <LinkList
            title="notes.backlinks"
            count={known.backlinkCount}
            links={known.backlinks.map(({ path: from, line, text: beside }) => ({
              href: noteHref(from, { line: String(line) }),
              name: `${from}:${line}`,
              beside,
            }))}
          />
        </footer>
      )}
      {dialog}
    </article>
  );
}

interface LinkListProps {
  title: "notes.links" | "notes.backlinks";
  count: number;
  links: readonly { href: string | undefined; name: string; beside: string }[];
}

function LinkList({ title, count, links }: LinkListProps): VNode {
  return (
    <section>
      <h2>
        {t(title)}{" "}
        {count > 0 && (
          <span class="faint">{count > links.length ? t("common.of", { part: links.length, all: count }) : count}</span>
        )}
      </h2>
      {count === 0 && <p class="faint">{t("notes.links.none")}</p>}
      <ul>
        {links.map(({ href, name, beside }, index) => (
          <li key={index}>
            {href === undefined ? name : <a href={href}>{name}</a>} <span class="faint">{beside}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
