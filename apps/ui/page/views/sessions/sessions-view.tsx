import type { ListedTranscript } from "@memslot/agent-kit";
import type { VNode } from "preact";
import type { SessionsAnswer } from "../../../src/api-types.ts";
import { Empty, Failed, Icon, languageOf, Loading, Tabs } from "../../components/common-components.tsx";
import { moveByArrows, useFocusKeys, useShortcuts } from "../../components/shortcuts.ts";
import { VirtualList } from "../../components/virtual-list.tsx";
import { pathWith } from "../../state/api-client.ts";
import { go, goWith, query } from "../../state/page-address.ts";
import { useQuery } from "../../state/queries.ts";
import { formatted, t, when } from "../../words/translate.ts";
import { Cited, TranscriptPane } from "./transcript-pane.tsx";

import "./sessions.css";

/** A row of a list. */
interface Row {
  key: string;
  title: string;
  /** Names the conversation for hosts and files: a tooltip. */
  id: string;
  /** Of the transcript; absent if there is none. */
  path?: string;
  /** Formatted when the row is visible: dates of thousands of rows take long. */
  facts: () => (string | false | undefined)[];
  more?: VNode | undefined;
}

const tabs = ["sessions", "handOvers", "journal"] as const;
const rowPixels = 53;
const links = ".sessions .list a.title[href]";

/** The conversations of the agent, their compacted messages and the journal: a list and the open transcript. */
export default function SessionsView(): VNode {
  const { data, error } = useQuery<SessionsAnswer>("/api/sessions");
  const [open, filter = ""] = ["file", "filter"].map((name) => query.value.get(name) ?? undefined);
  const tab = tabs.find((name) => name === query.value.get("tab")) ?? "sessions";
  const hrefOf = (file?: string): string =>
    pathWith("/sessions", { tab: query.value.get("tab") ?? undefined, filter, file });
  useFocusKeys(links);
  useShortcuts([{ keys: "Escape", label: "keys.back", run: () => go(hrefOf()) }]);
  if (error) return <Failed error={error} />;
  if (data === undefined) return <Loading lines={9} />;
  const { count, broken } = data.handOvers;
  const counts = { sessions: data.sessions.count, handOvers: count, journal: data.journal.count };
  if (open === undefined && counts.sessions + counts.handOvers + counts.journal === 0)
    return (
      <>
        <h1>{t("sessions.title")}</h1>
        <Empty title={t("sessions.empty.title")} icon="messages-square">
          <p>{t("sessions.empty.text")}</p>
        </Empty>
      </>
    );
  const all = rowsOf(tab, data);
  const wanted = filter.trim().toLocaleLowerCase();
  const rows = all.filter(({ title, id }) => `${title}\n${id}`.toLocaleLowerCase().includes(wanted));
  const found = rows.findIndex(({ path }) => path !== undefined && path === open);
  return (
    <div class={open === undefined ? "split sessions" : "split sessions has-detail"}>
      <aside class="list" onKeyDown={(event) => moveByArrows(event, links)}>
        {open === undefined && <h1 class="hidden">{t("sessions.title")}</h1>}
        <Tabs
          id="sessions"
          names={tabs}
          open={tab}
          labelOf={(name) => `${t(`sessions.tab.${name}`)} ${formatted(counts[name])}`}
          onOpen={(name) => goWith({ tab: name }, { replace: true })}
        />
        <input
          type="search"
          aria-label={t("sessions.filter")}
          placeholder={t("sessions.filter")}
          value={filter}
          onInput={(event) => goWith({ filter: event.currentTarget.value }, { replace: true })}
        />
        <div id="sessions-panel" role="tabpanel" aria-labelledby={`sessions-${tab}`}>
          {rows.length === 0 && <p class="faint">{t("sessions.none")}</p>}
          {tab === "handOvers" && broken > 0 && <p class="warn">{t("sessions.flushes.broken", { count: broken })}</p>}
          <VirtualList
            key={tab}
            aria-label={t(`sessions.tab.${tab}`)}
            items={rows}
            keyOf={({ key }) => key}
            rowPixels={rowPixels}
            current={found < 0 ? undefined : found}
            rowOf={({ title, id, path, facts, more }, index) => (
              <div class="session">
                <a
                  class="title"
                  {...(path && { href: hrefOf(path) })}
                  title={id}
                  aria-current={index === found || undefined}
                >
                  <span class="line" lang={languageOf(title)}>
                    {title}
                  </span>
                  <span class="faint small">{facts().filter(Boolean).join(" · ")}</span>
                </a>
                {more}
              </div>
            )}
          />
          {all.length < counts[tab] && (
            <p class="faint small">{t("sessions.left", { count: counts[tab] - all.length })}</p>
          )}
        </div>
      </aside>
      <div class="detail">
        {open === undefined ? (
          <p class="faint">{t("sessions.choose")}</p>
        ) : (
          <>
            <a class="back button quiet" href={hrefOf()}>
              <Icon name="arrow-left" /> {t("keys.back")}
            </a>
            <TranscriptPane path={open} title={all.find(({ path }) => path === open)?.title} key={open} />
          </>
        )}
      </div>
    </div>
  );
}

function rowsOf(tab: (typeof tabs)[number], { sessions, journal, handOvers }: SessionsAnswer): Row[] {
  if (tab !== "handOvers") return (tab === "journal" ? journal : sessions).transcripts.map(rowOf);
  const bySession = new Map(sessions.transcripts.map((each) => [each.sessionId, rowOf(each)]));
  return handOvers.all.map(({ state, at, messages, sessionId, sessionKey, tries = 0, lastError, citations = [] }) => {
    return {
      title: t("sessions.untitled"),
      id: sessionId,
      ...bySession.get(sessionId),
      ...(sessionKey !== undefined && { id: sessionKey }),
      key: `${sessionId} ${at}`,
      facts: () => [t(`sessions.state.${state}`), t("sessions.messages", { count: messages }), when(at)],
      more: (
        <>
          {lastError !== undefined && (
            <p class="bad small">{t("sessions.tries", { count: tries, error: lastError })}</p>
          )}
          {citations.length > 0 && (
            <p class="small">
              {t("sessions.written")} <Cited places={citations} />
            </p>
          )}
        </>
      ),
    };
  });
}

function rowOf({ path, title, to, messages, audience, sessionId, sessionKey }: ListedTranscript): Row {
  return {
    key: path,
    title: title ?? t("sessions.untitled"),
    id: sessionKey ?? sessionId,
    path,
    facts: () => [
      to && when(to),
      messages !== undefined && t("sessions.messages", { count: messages }),
      audience === "shared" && t("sessions.audience.shared"),
    ],
  };
}
