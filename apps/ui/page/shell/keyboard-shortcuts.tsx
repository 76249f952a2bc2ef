import { signal } from "@preact/signals";
import type { VNode } from "preact";
import { Dialog } from "../components/common-components.tsx";
import { go } from "../state/page-address.ts";
import { views } from "../views/views.ts";
import { t } from "../words/translate.ts";

export const keysShown = signal(false);

/** Keyboard shortcuts for every view, except while typing. */
export function followKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
    const view = views[Number(event.key) - 1];
    if (event.key === "?") keysShown.value = true;
    else if (view !== undefined) go(view.path);
    else if (event.key !== "/") return;
    else focusSearch();
    event.preventDefault();
  });
}

function focusSearch(): void {
  const field = document.querySelector<HTMLInputElement>("input[type=search]");
  if (field === null) go("/search");
  else field.focus();
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable], dialog") !== null;
}

export function KeyList(): VNode {
  return (
    <Dialog title={t("keys.title")} onClose={() => (keysShown.value = false)}>
      <dl class="keys">
        <dt>
          <kbd>/</kbd>
        </dt>
        <dd>{t("keys.search")}</dd>
        <dt>
          <kbd>1</kbd> … <kbd>{views.length}</kbd>
        </dt>
        <dd>{t("keys.views")}</dd>
        <dt>
          <kbd>?</kbd>
        </dt>
        <dd>{t("keys.this")}</dd>
        <dt>
          <kbd>Esc</kbd>
        </dt>
        <dd>{t("keys.close")}</dd>
      </dl>
    </Dialog>
  );
}
