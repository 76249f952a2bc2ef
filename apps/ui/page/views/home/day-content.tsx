import type { LoggedChange } from "@memslot/agent-kit";
import type { MemoryFile } from "@memslot/core";
import type { VNode } from "preact";
import type { HomeNote } from "../../../src/api-types.ts";
import { Icon, type IconName, languageOf } from "../../components/common-components.tsx";
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
      <Passage lines={lines.map((line) => ({ kind: "line", text: line, matches: [] }))} path={path} />
      {isCut && <a href={noteHref(path)}>{t("home.more")}</a>}
    </section>
  );
}

/** One link, with short texts at its end. Without an address: what it leads to does not exist. */
export interface Row {
  href: string | undefined;
  icon: IconName;
  text: string;
  /** The tooltip. */
  title: string;
  ends: readonly (string | undefined)[];
}

export function Rows({ rows }: { rows: readonly Row[] }): VNode {
  return (
    <ul class="rows">
      {rows.map(({ href, icon, text, title, ends }, index) => (
        <li key={index}>
          <a {...(href !== undefined && { href })} title={title}>
            <Icon name={icon} />
            <span class="line grow" lang={languageOf(text)}>
              {text}
            </span>
            {ends.map((end) => end && <span class="faint small">{end}</span>)}
          </a>
        </li>
      ))}
    </ul>
  );
}

/** A note by its title, or its path, and when it was changed. */
export function noteRow({ path, title = path, modified }: Pick<MemoryFile, "path" | "title" | "modified">): Row {
  const ends = [modified && when(modified, { dateStyle: "medium" })];
  return { href: noteHref(path), icon: "file-text", text: title, title: path, ends };
}

/** Who changed which note, and when; it leads to the changes of the note. */
export function changeRow({ path, by, at }: LoggedChange): Row {
  const ends = [by, when(at, { timeStyle: "short" })];
  return { href: pathWith("/changes", { path }), icon: "bot", text: path, title: path, ends };
}
