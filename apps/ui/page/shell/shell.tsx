import type { VNode } from "preact";
import { Empty, Loading } from "../components/common-components.tsx";
import { language, type Theme, theme } from "../state/preferences.ts";
import { facts, session } from "../state/api-client.ts";
import { pathname } from "../state/page-address.ts";
import { views, viewAt } from "../views/views.ts";
import { t } from "../words/translate.ts";
import { KeyList, keysShown } from "./keyboard-shortcuts.tsx";
import { ViewFrame } from "./lazy-view.tsx";

/** The whole page: header, views, and the open one. */
export function Shell(): VNode {
  const view = viewAt(pathname.value);
  document.title = view === undefined ? "memslot" : `${t(view.title)} · memslot`;
  return (
    <>
      <a class="skip" href="#main">
        {t("nav.skip")}
      </a>
      <Head />
      <main id="main" tabIndex={-1}>
        <Content />
      </main>
      {keysShown.value && <KeyList />}
    </>
  );
}

function Content(): VNode {
  if (session.value === "locked")
    return (
      <Empty title={t("shell.locked.title")}>
        <p>{t("shell.locked.text")}</p>
      </Empty>
    );
  // Content stays in view below the message.
  const isOffline = session.value === "offline";
  if (session.value === "starting") return <Loading />;
  const view = viewAt(pathname.value);
  return (
    <>
      {isOffline && (
        <div class="notice" role="alert">
          <strong>{t("shell.offline.title")}</strong> {t("shell.offline.text")}
        </div>
      )}
      {view !== undefined && <ViewFrame view={view} key={view.path} />}
      {view === undefined && (
        <Empty title={t("shell.notFound.title")}>
          <p>
            <a href="/">{t("shell.notFound.text")}</a>
          </p>
        </Empty>
      )}
    </>
  );
}

function Head(): VNode {
  const about = facts.value;
  const open = viewAt(pathname.value);
  return (
    <header class="head">
      <p class="brand">
        <strong>memslot</strong>
        {about && (
          <span class="about" title={about.workspaceDir}>
            {about.agentId} · {about.workspaceDir}
            {about.readOnly && ` · ${t("shell.readOnly")}`}
          </span>
        )}
      </p>
      <nav aria-label={t("nav.label")}>
        {views.map((view) => (
          <a key={view.path} href={view.path} aria-current={view === open ? "page" : undefined}>
            {t(view.title)}
          </a>
        ))}
      </nav>
      <div class="choices">
        <select
          aria-label={t("shell.theme")}
          value={theme.value}
          onChange={(event) => (theme.value = event.currentTarget.value as Theme)}
        >
          <option value="auto">{t("shell.theme.auto")}</option>
          <option value="light">{t("shell.theme.light")}</option>
          <option value="dark">{t("shell.theme.dark")}</option>
        </select>
        <select
          aria-label={t("shell.language")}
          value={language.value}
          onChange={(event) => (language.value = event.currentTarget.value === "zh" ? "zh" : "en")}
        >
          <option value="en" lang="en">
            English
          </option>
          <option value="zh" lang="zh-CN">
            中文
          </option>
        </select>
        <button type="button" class="quiet" onClick={() => (keysShown.value = true)}>
          {t("shell.keys")}
        </button>
      </div>
    </header>
  );
}
