import type { LoggedChange } from "@memslot/agent-kit";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ChangesAnswer } from "../../../src/api-types.ts";
import { ConfirmDialog, Empty, Icon, Loading } from "../../components/common-components.tsx";
import { useFocusKeys } from "../../components/shortcuts.ts";
import { ask, facts, pathWith } from "../../state/api-client.ts";
import { query } from "../../state/page-address.ts";
import { refetch, useQuery } from "../../state/queries.ts";
import { t, when } from "../../words/translate.ts";
import { noteHref } from "../notes/note-addresses.ts";
import { ChangedLines } from "./changed-lines.tsx";

import "./changes.css";

/** What agents changed in the notes, newest first, and the way back. `?path=`: of one note. */
export default function ChangesView(): VNode {
  const [path, before] = ["path", "before"].map((name) => query.value.get(name) ?? undefined);
  const { data, error } = useQuery<ChangesAnswer>(pathWith("/api/changes", { path, before }), { keep: true });
  const [made, setMade] = useState<string | undefined>(undefined);
  // Here, as a newer change can move its row to the next page while the dialog is open.
  const [chosen, choose] = useState<LoggedChange | undefined>(undefined);
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
            <Change key={change.id} change={change} onRevert={() => choose(change)} />
          ))}
        </section>
      ))}
      <nav class="row" aria-label={t("changes.pages")}>
        {before !== undefined && <a href={pathWith("/changes", { path })}>{t("changes.newest")}</a>}
        {data.next !== undefined && (
          <a class="button" href={pathWith("/changes", { path, before: data.next })}>
            {t("changes.older")}
          </a>
        )}
      </nav>
      {chosen && <RevertDialog change={chosen} onMade={setMade} onClose={() => choose(undefined)} />}
    </div>
  );
}

function revertOf({ kind }: LoggedChange): "restore" | "undo" {
  return kind === "forget" || kind === "delete" ? "restore" : "undo";
}

function Change({ change, onRevert }: { change: LoggedChange; onRevert: () => void }): VNode {
  const { at, kind, path, startLine, by, agentId, session, state, reason, before, after } = change;
  return (
    <article class="change card">
      <header class="row">
        <h3 class="grow">
          <span class="chip">{t(`changes.kind.${kind}`)}</span> <a href={noteHref(path, { line: startLine })}>{path}</a>
        </h3>
        {state === "done" ? (
          <button type="button" class="quiet" disabled={facts.value?.readOnly === true} onClick={onRevert}>
            <Icon name="undo-2" /> {t(`changes.${revertOf(change)}`)}
            <span class="hidden">{` ${path}:${startLine}`}</span>
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
      <ChangedLines before={before} after={after} />
    </article>
  );
}

interface RevertDialogProps {
  change: LoggedChange;
  onMade: (report: string) => void;
  onClose: () => void;
}

/** The confirmation by the name of its note before a change is taken back. */
function RevertDialog({ change, onMade, onClose }: RevertDialogProps): VNode {
  const { id, path, before, after } = change;
  const revert = revertOf(change);
  const label = t(`changes.${revert}`);
  const run = async (): Promise<void> => {
    await ask(`/api/changes/${revert}`, { body: { id } });
    refetch();
    onMade(t(`changes.done.${revert}`, { path }));
  };
  return (
    <ConfirmDialog title={label} label={`${label}: ${path}`} onConfirm={run} onClose={onClose}>
      <p>{t(`changes.confirm.${revert}`, { path })}</p>
      <ChangedLines before={after} after={before} />
    </ConfirmDialog>
  );
}
