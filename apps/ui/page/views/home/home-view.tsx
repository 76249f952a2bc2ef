import type { VNode } from "preact";
import type { HomeAnswer, HomeNote } from "../../../src/api-types.ts";
import { Failed, Icon, Loading } from "../../components/common-components.tsx";
import { useFocusKeys } from "../../components/shortcuts.ts";
import { pathWith } from "../../state/api-client.ts";
import { useQuery } from "../../state/queries.ts";
import { t, when } from "../../words/translate.ts";
import { noteHref } from "../notes/note-addresses.ts";
import { NoteRow } from "../notes/note-row.tsx";
import { Passage } from "../notes/passage.tsx";

import "./home.css";

/** What happened in the memory: the log of today, what agents wrote, and notes at hand. */
export default function HomeView(): VNode {
  const { data, error } = useQuery<HomeAnswer>("/api/home");
  useFocusKeys(".home .rows a");
  if (error) return <Failed error={error} />;
  if (data === undefined) return <Loading lines={9} />;
  const { today, log, before, pinned, recent, changes, changeCount } = data;
  return (
    <div class="home">
      <h1>{when(today, { dateStyle: "full", timeZone: "UTC" })}</h1>
      <div class="home-main">
        {log === undefined && <p class="faint">{t("home.nothing")}</p>}
        {[log, before].map((note) => note && <Log key={note.path} note={note} />)}
      </div>
      <aside>
        <h2>{t("home.pinned")}</h2>
        <ul class="rows">
          {pinned.map(({ path }) => (
            <NoteRow key={path} path={path} title={undefined} icon="pin" />
          ))}
        </ul>
        {pinned.length === 0 && <p class="faint small">{t("home.pinned.none")}</p>}
        <h2>{t("home.changes")}</h2>
        {changes.length === 0 && <p class="faint small">{t("home.changes.none")}</p>}
        <ul class="rows">
          {changes.map(({ id, path, by, at }) => (
            <li key={id}>
              <a href={pathWith("/changes", { path })}>
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
        {changeCount > changes.length && <a href="/changes">{t("home.changes.all", { count: changeCount })}</a>}
        <h2>{t("search.begin")}</h2>
        <ul class="rows">
          {recent.map(({ path, title, modified }) => (
            <NoteRow key={path} path={path} title={title} at={modified} />
          ))}
        </ul>
      </aside>
    </div>
  );
}

function Log({ note: { path, text, isCut } }: { note: HomeNote }): VNode {
  return (
    <section>
      <p class="small mono">
        <a href={noteHref(path)}>{path}</a>
      </p>
      <Passage
        lines={text.split("\n").map((line) => ({ kind: "line", parts: [{ text: line, match: false }] }))}
        path={path}
      />
      {isCut && <a href={noteHref(path)}>{t("home.more")}</a>}
    </section>
  );
}
