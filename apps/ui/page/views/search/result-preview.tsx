import type { NoteContent } from "@memslot/agent-kit";
import type { VNode } from "preact";
import type { FoundResult } from "../../../src/api-types.ts";
import { CopyButton, Icon, Loading, OpenInEditor } from "../../components/common-components.tsx";
import { pathWith } from "../../state/api-client.ts";
import { useQuery } from "../../state/queries.ts";
import { t } from "../../words/translate.ts";
import { NoteBody } from "../notes/note-body.tsx";
import { matchesIn, Passage } from "../notes/passage.tsx";
import { bestLineNumber, resultHref } from "./result-card.tsx";

/** The whole note of a result beside the list, at its passage. */
export function ResultPreview({ result }: { result: FoundResult }): VNode {
  const { path, source, startLine, endLine, citation } = result;
  const line = bestLineNumber(result);
  const asked = source === "memory" ? pathWith("/api/notes/file", { path }) : undefined;
  const { data, error } = useQuery<NoteContent>(asked);
  return (
    <aside class="detail" aria-label={t("search.preview")}>
      <p class="row">
        <a class="button quiet" href={resultHref(result)}>
          <Icon name="maximize-2" />
          {t("common.open")}
        </a>
        <CopyButton text={citation ?? `${path}#L${startLine}-L${endLine}`} label={t("search.cite")} />
        {asked !== undefined && <OpenInEditor path={path} line={line} />}
      </p>
      <p class="faint small mono">{path}</p>
      {asked === undefined && <Passage lines={result.lines} path={path} />}
      {asked !== undefined && data === undefined && <Loading error={error} lines={6} />}
      {data && <NoteBody path={path} text={data.text} asked={[line, line]} matches={matchesIn(result.lines)} />}
    </aside>
  );
}
