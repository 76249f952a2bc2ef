import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ExcludedAnswer, TakeInAnswer } from "../../../src/api-types.ts";
import { Dialog, Failed, failureText, Loading } from "../../components/common-components.tsx";
import { ask, facts, told } from "../../state/api-client.ts";
import { useQuery } from "../../state/queries.ts";
import { sentence, t } from "../../words/translate.ts";

/** Excluded files, those that could not be indexed first, the reasons, and how to add them. A request scans all files. */
export function ExcludedFiles(): VNode {
  const { data, error } = useQuery<ExcludedAnswer>("/api/notes/excluded");
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
  if (error) return <Failed error={error} />;
  if (data === undefined) return <Loading />;
  const { leftOut, leftOutCount, more, layout } = data;
  return (
    <div class="left-out">
      {problem !== undefined && (
        <p class="bad" role="alert">
          {problem}
        </p>
      )}
      {leftOutCount === 0 && <p class="faint">{t("notes.leftOut.none")}</p>}
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
    </div>
  );
}
