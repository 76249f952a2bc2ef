import type { ComponentType, VNode } from "preact";
import { signal } from "@preact/signals";
import { useErrorBoundary, useLayoutEffect, useState } from "preact/hooks";
import { Dialog, editor, editors, Empty, Icon, IconButton, Loading } from "../components/common-components.tsx";
import { useShortcuts } from "../components/shortcuts.ts";
import { facts, session } from "../state/api-client.ts";
import { go, pathname } from "../state/page-address.ts";
import { language, languages, theme, themes } from "../state/preferences.ts";
import { status, syncing } from "../state/server-events.ts";
import { type View, views, viewAt } from "../views/views.ts";
import { t, type WordName } from "../words/translate.ts";
import { Palette } from "./palette.tsx";

const openDialog = signal<"palette" | "settings" | undefined>(undefined);

/** The whole page: the views at the side, the open one, and dialogs. */
export function Shell(): VNode {
  const view = viewAt(pathname.value);
  document.title = view === undefined ? "memslot" : `${t(view.title)} · memslot`;
  const close = (): void => void (openDialog.value = undefined);
  useShortcuts([
    { keys: "mod+k", label: "keys.palette", run: () => (openDialog.value = "palette") },
    { keys: "/", label: "keys.search", run: focusSearch },
    { keys: "?", label: "keys.palette", run: () => (openDialog.value = "palette") },
    { keys: ",", label: "settings.title", run: () => (openDialog.value = "settings") },
    ...views.map(({ path, title }, index) => ({ keys: String(index + 1), label: title, run: () => go(path) })),
  ]);
  return (
    <>
      <a class="skip" href="#main">
        {t("nav.skip")}
      </a>
      <div class="side">
        <nav class="views" aria-label={t("nav.label")}>
          {views.map(({ path, title, icon }) => (
            <a key={path} href={path} title={t(title)} aria-current={path === view?.path ? "page" : undefined}>
              <Icon name={icon} />
              <span>{t(title)}</span>
            </a>
          ))}
        </nav>
        <Bar />
      </div>
      <main id="main" tabIndex={-1}>
        <Content />
      </main>
      {openDialog.value === "settings" && <Settings onClose={close} />}
      {openDialog.value === "palette" && <Palette onClose={close} />}
    </>
  );
}

function focusSearch(): void {
  const field = document.querySelector<HTMLInputElement>("main input[type=search]");
  if (field === null) go("/search");
  else field.focus();
}

function Content(): VNode {
  if (session.value === "locked")
    return (
      <Empty title={t("shell.locked.title")}>
        <p>{t("shell.locked.text")}</p>
      </Empty>
    );
  const view = viewAt(pathname.value);
  return (
    <>
      {session.value === "offline" && (
        <div class="notice" role="alert">
          <strong>{t("shell.offline.title")}</strong> {t("shell.offline.text")}
        </div>
      )}
      {view !== undefined ? (
        <ViewFrame view={view} key={view.path} />
      ) : (
        <Empty title={t("shell.notFound.title")}>
          <a href="/">{t("shell.notFound.text")}</a>
        </Empty>
      )}
    </>
  );
}

/** Loads a view, and keeps the rest of the page working if it fails. Its `key` is the view. */
function ViewFrame({ view }: { view: View }): VNode {
  const [thrown] = useErrorBoundary();
  const [{ Loaded, error = thrown }, setLoaded] = useState<{ Loaded?: ComponentType; error?: unknown }>({});
  useLayoutEffect(() => {
    view.load().then(
      (module) => setLoaded({ Loaded: module.default }),
      (reason: unknown) => setLoaded({ error: reason }),
    );
  }, []);
  if (error === undefined) return Loaded === undefined ? <Loading /> : <Loaded />;
  return (
    <Empty title={t("shell.error.title")}>
      <p>{String(error)}</p>
      <button type="button" onClick={() => location.reload()}>
        {t("shell.error.again")}
      </button>
    </Empty>
  );
}

/** Whose memory this is, its health, and the tools. */
function Bar(): VNode {
  const { agentId, workspaceDir, readOnly } = facts.value ?? {};
  return (
    <header class="page-bar">
      <p class="brand" title={workspaceDir}>
        <strong class="line">{workspaceDir?.split(/[\\/]/u).at(-1) ?? "memslot"}</strong>
        {agentId !== undefined && <span class="faint line">{agentId}</span>}
        {readOnly === true && <span class="chip">{t("shell.readOnly")}</span>}
      </p>
      <HealthLine />
      <div class="tools">
        <IconButton icon="command" label={t("keys.palette")} onClick={() => (openDialog.value = "palette")} />
        <IconButton icon="settings" label={t("settings.title")} onClick={() => (openDialog.value = "settings")} />
      </div>
    </header>
  );
}

/** Whether answers can be relied on, in a few words that lead to the details. */
function HealthLine(): VNode | null {
  if (session.value === "locked") return null;
  const [kind, text] = stateOf();
  return (
    <a class="health-line" href="/health">
      <i class={kind} aria-hidden="true" />
      <span class="line">{text}</span>
    </a>
  );
}

function stateOf(): [kind: string, text: string] {
  const { files = 0, fallback, lastSyncError, excluded } = status.value ?? {};
  if (session.value === "offline") return ["bad", t("shell.offline.title")];
  if (syncing.value !== undefined)
    return ["faint", t("health.line.checking", { count: syncing.value.progress?.total ?? files })];
  if (status.value === undefined) return ["faint", t("shell.loading")];
  if (fallback !== undefined || lastSyncError !== undefined || (excluded?.count ?? 0) > 0)
    return ["warn", t("search.state.degraded")];
  return ["good", t("health.line.files", { count: files })];
}

const choices: readonly { label: WordName; names: readonly string[]; at: { value: string } }[] = [
  { label: "shell.theme", names: themes, at: theme },
  { label: "shell.language", names: languages, at: language },
  { label: "settings.editor", names: editors, at: editor },
];

/** Settings of the page, kept in this browser. */
function Settings({ onClose }: { onClose: () => void }): VNode {
  return (
    <Dialog title={t("settings.title")} onClose={onClose}>
      <div class="settings">
        {choices.map(({ label, names, at }) => (
          <label key={label}>
            {t(label)}
            <select value={at.value} onChange={(event) => (at.value = event.currentTarget.value)}>
              {names.map((name) => (
                <option key={name} value={name}>
                  {t(`${label}.${name}` as WordName)}
                </option>
              ))}
            </select>
          </label>
        ))}
      </div>
      <p class="faint small">{t("settings.where")}</p>
    </Dialog>
  );
}
