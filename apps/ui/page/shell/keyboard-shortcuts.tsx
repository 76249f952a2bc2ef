import type { VNode } from "preact";
import { Dialog } from "../components/common-components.tsx";
import { shortcuts } from "../components/shortcuts.ts";
import { t } from "../words/translate.ts";

const isApple = /Mac|iPhone|iPad/u.test(navigator.userAgent);
const signs: Readonly<Record<string, string>> = { ArrowDown: "↓", ArrowUp: "↑", Escape: "Esc", Enter: "↵" };

/** A key combination as the keyboard of this machine shows it. */
export function Keys({ keys }: { keys: string }): VNode {
  const parts = keys.split("+").map((key) => (key === "mod" ? (isApple ? "⌘" : "Ctrl") : (signs[key] ?? key)));
  return (
    <kbd>
      {parts
        .map((key) => (keys.startsWith("mod+") && key.length === 1 ? key.toUpperCase() : key))
        .join(isApple ? "" : " ")}
    </kbd>
  );
}

/** The shortcuts of the page and the open view. */
export function KeyList({ onClose }: { onClose: () => void }): VNode {
  return (
    <Dialog title={t("keys.title")} onClose={onClose}>
      <dl class="keys">
        {[...shortcuts.value, { keys: "Escape", label: "keys.close" } as const].map(({ keys, label }) => (
          <div key={`${keys} ${label}`}>
            <dt>
              <Keys keys={keys} />
            </dt>
            <dd>{t(label)}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
