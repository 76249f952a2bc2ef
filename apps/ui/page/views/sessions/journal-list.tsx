import type { VNode } from "preact";
import type { SessionsAnswer } from "../../../src/api/sessions.ts";
import { bytes, t, when } from "../../words/words.ts";
import { transcriptHref } from "./transcript-places.ts";

interface JournalProps {
  files: SessionsAnswer["journal"];
  count: number;
  open: string | undefined;
}

const most = 50;

/** Dropped messages in the journal. */
export function JournalList({ files, count, open }: JournalProps): VNode {
  return (
    <section>
      <h2>{t("sessions.journal", { count })}</h2>
      {count === 0 && <p class="faint">{t("sessions.none")}</p>}
      <ul class="transcripts">
        {files.slice(0, most).map(({ path, sessionId, from, to, bytes: size }) => (
          <li key={path}>
            <a href={transcriptHref(path)} aria-current={path === open ? "true" : undefined}>
              {when(from)} – {when(to)}
            </a>{" "}
            <span class="faint">{bytes(size)}</span>
            <p class="faint mono">{sessionId}</p>
          </li>
        ))}
      </ul>
      {count > most && <p class="faint">{t("sessions.left", { count: count - most })}</p>}
    </section>
  );
}
