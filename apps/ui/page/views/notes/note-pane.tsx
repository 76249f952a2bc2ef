import type { VNode } from "preact";
import type { NoteAnswer } from "../../../src/api-types.ts";
import { Empty, Failed, Loading } from "../../components/common-components.tsx";
import { useShortcuts } from "../../components/shortcuts.ts";
import { pathWith, facts } from "../../state/api-client.ts";
import { refetch, useQuery } from "../../state/queries.ts";
import { goWith, query } from "../../state/page-address.ts";
import { bytes, t, when } from "../../words/translate.ts";
import { drafts, keepDraft, NoteEditor } from "./note-editor.tsx";
import { NoteBody } from "./note-body.tsx";
import { linesOf, noteHref } from "./note-addresses.ts";

export function NotePane({ path }: { path: string }): VNode {
  const asked = pathWith("/api/notes/file", { path });
  const { data, error } = useQuery<NoteAnswer>(asked);
  const draft = drafts.value.get(path);
  const isFixed = facts.value?.readOnly === true || data?.note.fixed !== undefined;
  const edit = (): void => {
    if (data && !isFixed && draft === undefined) keepDraft(path, { text: data.note.text, base: data.note });
  };
  useShortcuts([{ keys: "e", label: "keys.edit", run: edit }]);
  if (error?.status === 404) return <Empty title={t("notes.missing.title")}>{path}</Empty>;
  if (error) return <Failed error={error} />;
  if (data === undefined || (data.path !== path && data.facts?.path !== data.path)) return <Loading />;
  const { note, facts: known } = data;
  const isRaw = query.value.get("as") === "text";
  return (
    <article class="note">
      <header>
        <h1>{path}</h1>
        <p class="faint row">
          {bytes(note.bytes)} · {when(note.modified)} ·{" "}
          {known === undefined ? t("notes.notIndexed") : t("notes.passages", { count: known.passageCount })}
          <button type="button" onClick={() => goWith({ as: isRaw ? undefined : "text" })}>
            {t(isRaw ? "notes.rendered" : "notes.raw")}
          </button>
          <a href={pathWith("/changes", { path })}>{t("nav.changes")}</a>
          {!isFixed && draft === undefined && (
            <button type="button" onClick={edit}>
              {t("notes.edit")}
            </button>
          )}
        </p>
        {note.fixed !== undefined && <p class="faint">{note.fixed}</p>}
      </header>
      {draft === undefined ? (
        <NoteBody text={note.text} facts={known} isRaw={isRaw} asked={linesOf(query.value.get("line"))} />
      ) : (
        <NoteEditor path={path} draft={draft} onSaved={() => refetch(asked)} />
      )}
      {known && (
        <footer class="note-links">
          <LinkList title={t("notes.links")} count={known.linkCount}>
            {known.links.map(({ path: to, target, line }, index) => (
              <li key={index}>
                {to === undefined ? (
                  <span class="faint">
                    {target}: {t("notes.link.missing")}
                  </span>
                ) : (
                  <a href={noteHref(to)}>{to}</a>
                )}{" "}
                <span class="faint">:{line}</span>
              </li>
            ))}
          </LinkList>
          <LinkList title={t("notes.backlinks")} count={known.backlinkCount}>
            {known.backlinks.map(({ path: from, line, text }, index) => (
              <li key={index}>
                <a href={noteHref(from, { line: String(line) })}>
                  {from}:{line}
                </a>{" "}
                <span class="faint">{text}</span>
              </li>
            ))}
          </LinkList>
        </footer>
      )}
    </article>
  );
}

function LinkList({ title, count, children }: { title: string; count: number; children: VNode[] }): VNode {
  return (
    <section>
      <h2>
        {title} {count > 0 && <span class="faint">{t("common.of", { part: children.length, all: count })}</span>}
      </h2>
      {count === 0 ? <p class="faint">{t("notes.links.none")}</p> : <ul>{children}</ul>}
    </section>
  );
}
