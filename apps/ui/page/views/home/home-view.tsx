import type { VNode } from "preact";
import type { HomeAnswer } from "../../../src/api-types.ts";
import { Loading } from "../../components/common-components.tsx";
import { useFocusKeys } from "../../components/shortcuts.ts";
import { useQuery } from "../../state/queries.ts";
import { t, when } from "../../words/translate.ts";
import { changeRow, Log, noteRow, Rows } from "./day-content.tsx";

import "./home.css";

/** What happened in the memory: the log of today, what agents wrote, and notes at hand. */
export default function HomeView(): VNode {
  const { data, error } = useQuery<HomeAnswer>("/api/home");
  useFocusKeys(".home .rows a");
  if (data === undefined) return <Loading error={error} lines={9} />;
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
        <Rows rows={pinned.map(({ path }) => ({ ...noteRow({ path }), icon: "pin" }))} />
        {pinned.length === 0 && <p class="faint small">{t("home.pinned.none")}</p>}
        <h2>{t("home.changes")}</h2>
        {changes.length === 0 && <p class="faint small">{t("home.changes.none")}</p>}
        <Rows rows={changes.map(changeRow)} />
        {changeCount > changes.length && <a href="/changes">{t("home.changes.all", { count: changeCount })}</a>}
        <h2>{t("search.begin")}</h2>
        <Rows rows={recent.map(noteRow)} />
      </aside>
    </div>
  );
}
