import type { LoggedChange } from "@memslot/agent-kit";
import type { VNode } from "preact";
import type { HomeNote } from "../../../src/api-types.ts";
import { Icon } from "../../components/common-components.tsx";
import { pathWith } from "../../state/api-client.ts";
import { t, when } from "../../words/translate.ts";
import { noteHref } from "../notes/note-addresses.ts";
import { Passage } from "../notes/passage.tsx";

/** The beginning of a log, rendered. Its heading is the date above it. */
export function Log({ note: { path, text, isCut } }: { note: HomeNote }): VNode {
  const lines = text.replace(/^# \d{4}-\d{2}-\d{2}\s+/u, "").split("\n");
  return (
    <section class="log">
      <p class="small mono">
        <a href={noteHref(path)}>{path}</a>
      </p>
      <Passage lines={lines.map((line) => ({ kind: "line", parts: [{ text: line, match: false }] }))} path={path} />
      {isCut && <a href={noteHref(path)}>{t("home.more")}</a>}
    </section>
  );
}

/** Who changed which note, and when; a row leads to the changes of its note. */
export function ChangeRows({ changes }: { changes: readonly LoggedChange[] }): VNode {
  return (
    <ul class="rows">
      {changes.map(({ id, path, by, at }) => (
        <li key={id}>
          <a href={pathWith("/changes", { path })} title={path}>
            <Icon name="bot" />
            <span class="line grow">{path}</span>
            <span class="faint small line">{by}</span>
            <time class="faint small" dateTime={at}>
              {when(at, { timeStyle: "short" })}
            </time>
          </a>
        </li>
      ))}
    </ul>
  );
}
