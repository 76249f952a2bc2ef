import type { VNode } from "preact";
import type { ExcludedAnswer } from "../../../src/api-types.ts";
import { Loading } from "../../components/common-components.tsx";
import { useQuery } from "../../state/queries.ts";
import { said, t } from "../../words/translate.ts";

/** Excluded files with the reasons, those that could not be indexed first. A request scans all files. */
export function ExcludedFiles(): VNode {
  const { data, error } = useQuery<ExcludedAnswer>("/api/notes/excluded");
  if (data === undefined) return <Loading error={error} />;
  const { leftOut, leftOutCount, more } = data;
  return (
    <div class="left-out">
      <h2>{t("notes.leftOut.title")}</h2>
      {leftOutCount === 0 && <p class="faint">{t("notes.leftOut.none")}</p>}
      {leftOutCount > leftOut.length && (
        <p class="faint">{t("notes.leftOut.of", { part: leftOut.length, all: leftOutCount })}</p>
      )}
      {more && <p class="faint">{t("notes.leftOut.more")}</p>}
      <ul>
        {leftOut.map(({ path, kind, reason, problem }) => (
          <li key={path}>
            {path}
            {kind === "folder" && "/"} <span class="faint">{t(`notes.reason.${reason}`)}</span>
            {problem && <span class="bad"> {said(problem)}</span>}
          </li>
        ))}
      </ul>
    </div>
  );
}
