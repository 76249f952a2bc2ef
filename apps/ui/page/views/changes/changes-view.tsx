import type { LoggedChange } from "@memslot/agent-kit";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ChangesAnswer } from "../../../src/api-types.ts";
import { ConfirmDialog, Empty, Icon, Loading } from "../../components/common-components.tsx";
import { useFocusKeys } from "../../components/shortcuts.ts";
import { ask, facts, pathWith } from "../../state/api-client.ts";
import { goWith, query } from "../../state/page-address.ts";
import { refetch, useQuery } from "../../state/queries.ts";
import { t, when } from "../../words/translate.ts";
import { noteHref } from "../notes/note-addresses.ts";
import { ChangedLines } from "./changed-lines.tsx";

import "./changes.css";

/** What agents changed in the notes, newest first, and the way back. `?path=`: of one note. */
export default function ChangesView(): VNode {
  const [path, before] = ["path", "before"].map((name) => query.value.get(name) ?? undefined);
  const { data, error } = useQuery<ChangesAnswer>(pathWith("/api/changes", { path, before }), { keep: true });
  const [chosen, setChosen] = useState<LoggedChange | undefined>(undefined);
  const [made, setMade] = useState<string | undefined>(undefined);
  useFocusKeys(".change h3 a");
  if (data === undefined) return <Loading error={error} lines={8} />;
  const days = Map.groupBy(data.changes, ({ at }) => when(at, { dateStyle: "full" }));
  return (
    <div class="changes">
      <h1>{t("nav.changes")}</h1>
      {path !== undefined && (
        <p class="row">
          <a href={noteHref(path)}>{path}</a> <a href="/changes">{t("changes.all")}</a>
        </p>
      )}
      <p class="good" role="status">
        {made}
      </p>
      {data.count === 0 && (
        <Empty title={t("changes.empty.title")} icon="history">
          <p>{t("changes.empty.text")}</p>
        </Empty>
      )}
      {[...days].map(([day, changes]) => (
        <section key={day}>
          <h2>{day}</h2>
          {changes.map((change) => (
            <Change key={change.id} change={change} onRevert={() => setChosen(change)} />
          ))}
        </section>
      ))}
      <nav class="row" aria-label={t("changes.pages")}>
        {before !== undefined && <a href={pathWith("/changes", { path })}>{t("changes.newest")}</a>}
        {data.next !== undefined && (
          <button type="button" onClick={() => goWith({ before: data.next })}>
            {t("changes.older")}
          </button>
        )}
      </nav>
      {chosen && <Confirm change={chosen} onDone={setMade} onClose={() => setChosen(undefined)} />}
    </div>
  );
}

function Change({ change, onRevert }: { change: LoggedChange; onRevert: () => void }): VNode {
  const { at, kind, path, startLine, by, agentId, session, state, reason } = change;
  return (
    <article class="change card">
      <header class="row">
        <h3 class="grow">
          <span class="chip">{t(`changes.kind.${kind}`)}</span>{" "}
          <a href={noteHref(path, { line: String(startLine) })}>{path}</a>
        </h3>
        {state === "done" ? (
          <button type="button" class="quiet" disabled={facts.value?.readOnly === true} onClick={onRevert}>
            <Icon name="undo-2" /> {t(`changes.${revertOf(change)}`)}
            <span class="hidden">
              {" "}
              {path}:{startLine}
            </span>
          </button>
        ) : (
          <span class="chip">{t(`changes.state.${state}`)}</span>
        )}
      </header>
      <p class="faint small">
        <time dateTime={at}>{when(at, { timeStyle: "short" })}</time> · {by} · {agentId}
        {session !== undefined && ` · ${t("changes.session", { session })}`}
        {reason !== undefined && ` · ${reason}`}
      </p>
      <ChangedLines change={change} />
    </article>
  );
}

/** Asks by the name of the note before a change is taken back. */
function Confirm(props: { change: LoggedChange; onDone: (text: string) => void; onClose: () => void }): VNode {
  const { change, onDone, onClose } = props;
  const revert = revertOf(change);
  const onConfirm = async (): Promise<void> => {
    const { path } = await ask<LoggedChange>(`/api/changes/${revert}`, { body: { id: change.id } });
    refetch();
    onDone(t(`changes.done.${revert}`, { path }));
  };
  return (
    <ConfirmDialog
      title={t(`changes.${revert}`)}
      label={`${t(`changes.${revert}`)}: ${change.path}`}
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <p>{t(`changes.confirm.${revert}`, { path: change.path })}</p>
      <ChangedLines change={{ ...change, before: change.after, after: change.before }} />
    </ConfirmDialog>
  );
}

function revertOf({ kind }: LoggedChange): "undo" | "restore" {
  return kind === "forget" || kind === "delete" ? "restore" : "undo";
}
