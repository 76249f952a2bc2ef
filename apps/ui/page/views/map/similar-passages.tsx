import type { NearPassage } from "@memslot/core";
import type { VNode } from "preact";
import type { Answer } from "../../state/queries.ts";
import { failureText } from "../../components/common-components.tsx";
import { t } from "../../words/translate.ts";
import { noteHref } from "../notes/note-addresses.ts";
import { transcriptHref } from "../sessions/transcript-pane.tsx";

/** The address of a passage on this page. */
export function passageHref(source: string, path: string, line: number): string {
  return source === "memory" ? noteHref(path, { line: String(line) }) : transcriptHref(path);
}

interface NearProps {
  of: { path: string; source: string; startLine: number; endLine: number; day: string };
  near: Answer<readonly NearPassage[]>;
}

export function NearPane({ of, near }: NearProps): VNode {
  return (
    <section class="card" aria-live="polite">
      <h2>
        <a href={passageHref(of.source, of.path, of.startLine)}>
          {of.path}:{of.startLine}-{of.endLine}
        </a>
      </h2>
      <p class="faint">
        {of.source} · {of.day}
      </p>
      <h3>{t("map.near")}</h3>
      {near.error && <p class="bad">{failureText(near.error)}</p>}
      {near.data?.length === 0 && <p class="faint">{t("map.near.none")}</p>}
      <ol>
        {near.data?.map(({ path, source, startLine, text }) => (
          <li key={`${path} ${startLine}`}>
            <a href={passageHref(source, path, startLine)}>
              {path}:{startLine}
            </a>{" "}
            <span class="faint">{text}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
