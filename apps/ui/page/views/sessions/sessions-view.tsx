import type { HandOver, ListedTranscript } from "@memslot/agent-kit";
import type { VNode } from "preact";
import type { SessionsAnswer } from "../../../src/api-types.ts";
import { Empty, Icon, languageOf, Loading, Tabs } from "../../components/common-components.tsx";
import { moveByArrows, useFocusKeys, useShortcuts } from "../../components/shortcuts.ts";
import { VirtualList } from "../../components/virtual-list.tsx";
import { pathWith } from "../../state/api-client.ts";
import { go, goWith, query } from "../../state/page-address.ts";
import { useQuery } from "../../state/queries.ts";
import { formatted, t, when } from "../../words/translate.ts";
import { Cited, TranscriptPane } from "./transcript-pane.tsx";

import "./sessions.css";

/** A row of a list: a conversation, compacted messages, or both. */
type Row = Partial<ListedTranscript & Omit<HandOver, "messages">> & { key: string };

const tabs = ["sessions", "handOvers", "journal"] as const;
const rowPixels = 53;
const links = ".sessions .list a.title[href]";

/** The conversations of the agent, their compacted messages and the journal: a list and the open transcript. */
export default function SessionsView(): VNode {
  const { data, error } = useQuery<SessionsAnswer>("/api/sessions");
  const { file: open, filter = "", tab: asked } = Object.fromEntries(query.value);
  const tab = tabs.find((name) => name === asked) ?? "sessions";
  const hrefOf = (file?: string): string => pathWith("/sessions", { tab: asked, filter, file });
  useFocusKeys(links);
  useShortcuts([{ keys: "Escape", label: "keys.back", run: () => go(hrefOf()) }]);
  if (data === undefined) return <Loading error={error} lines={9} />;
  const { count, broken } = data.handOvers;
  const counts = { sessions: data.sessions.count, handOvers: count, journal: data.journal.count };
  const all = rowsOf(tab, data);
  const wanted = filter.trim().toLocaleLowerCase();
  const rows = all.filter(({ title, sessionKey, sessionId }) =>
    [title, sessionKey ?? sessionId].join("\n").toLocaleLowerCase().includes(wanted),
  );
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
          {tab === "sessions" && counts.sessions === 0 ? (
            <Empty title={t("sessions.empty.title")} icon="messages-square">
              <p>{t("sessions.empty.text")}</p>
            </Empty>
          ) : (
            rows.length === 0 && <p class="faint">{t("sessions.none")}</p>
          )}
          {tab === "handOvers" && broken > 0 && <p class="warn">{t("sessions.flushes.broken", { count: broken })}</p>}
          <VirtualList
            key={tab}
            aria-label={t(`sessions.tab.${tab}`)}
            items={rows}
            keyOf={({ key }) => key}
            rowPixels={rowPixels}
            current={found}
            rowOf={(row, index) => (
              <SessionRow row={row} href={row.path && hrefOf(row.path)} isOpen={index === found} />
            )}
          />
          {all.length < counts[tab] && (
            <p class="faint small">{t("sessions.left", { count: counts[tab] - all.length })}</p>
          )}
        </div>
      </aside>
      <div class="detail">
        {open === undefined ? (
          counts[tab] > 0 && <p class="faint">{t("sessions.choose")}</p>
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
  if (tab !== "handOvers")
    return (tab === "journal" ? journal : sessions).transcripts.map((each) => ({ ...each, key: each.path }));
  const bySession = new Map(sessions.transcripts.map((each) => [each.sessionId, each]));
  return handOvers.all.map((each) => {
    return { ...bySession.get(each.sessionId), ...each, key: `${each.sessionId} ${each.at}` };
  });
}

function SessionRow({ row, href, isOpen }: { row: Row; href: string | undefined; isOpen: boolean }): VNode {
  const { title = t("sessions.untitled"), to, at = to, messages, tries = 0, lastError, citations = [] } = row;
  const facts = [
    row.state && t(`sessions.state.${row.state}`),
    at && when(at),
    messages !== undefined && t("sessions.messages", { count: messages }),
    row.audience === "shared" && t("sessions.audience.shared"),
  ];
  return (
    <div class="session">
      <a
        class="title"
        {...(href && { href })}
        title={row.sessionKey ?? row.sessionId}
        aria-current={isOpen || undefined}
      >
        <span class="line" lang={languageOf(title)}>
          {title}
        </span>
        <span class="faint small">{facts.filter(Boolean).join(" · ")}</span>
      </a>
      {lastError !== undefined && <p class="bad small">{t("sessions.tries", { count: tries, error: lastError })}</p>}
      {citations.length > 0 && (
        <p class="small">
          {t("sessions.written")} <Cited places={citations} />
        </p>
      )}
    </div>
  );
}
