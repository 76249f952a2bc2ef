import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ExcludedAnswer, TakeInAnswer } from "../../../src/api-types.ts";
import { Dialog, failureText, Loading } from "../../components/common-components.tsx";
import { ask, facts, told } from "../../state/api-client.ts";
import { useQuery } from "../../state/queries.ts";
import { sentence, t } from "../../words/translate.ts";

/** Excluded files, those that could not be indexed first, the reasons, and how to add them. */
export function ExcludedFiles({ isOpen: isOpenAtFirst = false }: { isOpen?: boolean }): VNode {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  const { data } = useQuery<ExcludedAnswer>(isOpen ? "/api/notes/excluded" : undefined);
  const [answer, setAnswer] = useState<(TakeInAnswer & { path?: string | undefined }) | undefined>(undefined);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const isFixed = facts.value?.readOnly === true;
  const takeIn = async (path: string | undefined, write: boolean): Promise<void> => {
    try {
      setAnswer({ ...(await ask<TakeInAnswer>("/api/notes/take-in", { body: { path, write } })), path });
      setProblem(undefined);
    } catch (error) {
      told(error);
      setProblem(failureText(error));
    }
  };
  const { leftOut = [], leftOutCount = 0, more = false, layout } = data ?? {};
  return (
    <details class="left-out" open={isOpenAtFirst} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{data === undefined ? t("notes.leftOut.title") : t("notes.leftOut", { count: leftOutCount })}</summary>
      {isOpen && data === undefined && <Loading />}
      {problem !== undefined && (
        <p class="bad" role="alert">
          {problem}
        </p>
      )}
      {data !== undefined && leftOutCount === 0 && <p class="faint">{t("notes.leftOut.none")}</p>}
      {leftOutCount > leftOut.length && (
        <p class="faint">{t("notes.leftOut.of", { part: leftOut.length, all: leftOutCount })}</p>
      )}
      {more && <p class="faint">{t("notes.leftOut.more")}</p>}
      {layout === "agent" && leftOut.some(({ reason }) => reason === "layout") && (
        <button type="button" disabled={isFixed} onClick={() => void takeIn(undefined, false)}>
          {t("notes.takeIn.all")}
        </button>
      )}
      <ul>
        {leftOut.map(({ path, kind, reason, detail }) => (
          <li key={path}>
            {path}
            {kind === "folder" && "/"} <span class="faint">{t(`notes.reason.${reason}`)}</span>
            {detail !== undefined && <span class="bad"> {sentence(detail)}</span>}
            {(reason === "layout" || reason === "ignored") && (
              <button type="button" class="quiet" disabled={isFixed} onClick={() => void takeIn(path, false)}>
                {t("notes.takeIn")}
                <span class="hidden"> {path}</span>
              </button>
            )}
          </li>
        ))}
      </ul>
      {answer && (
        <Dialog title={t("notes.takeIn.title")} onClose={() => setAnswer(undefined)}>
          <p>{t("notes.takeIn.text", { key: answer.key, value: answer.value })}</p>
          <p>
            <code>{answer.file}</code>
          </p>
          {answer.untrusted !== undefined && (
            <p class="warn">{t("notes.takeIn.untrusted", { file: answer.untrusted })}</p>
          )}
          {answer.written ? (
            <p class="good" role="status">
              {t("notes.takeIn.done")}
            </p>
          ) : answer.changes ? (
            <>
              <pre class="card">{answer.after}</pre>
              <button type="button" class="main" onClick={() => void takeIn(answer.path, true)}>
                {t("notes.takeIn.write")}
              </button>
            </>
          ) : (
            <p>{t("notes.takeIn.same")}</p>
          )}
        </Dialog>
      )}
    </details>
  );
}
