import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Dialog } from "../components/common-components.tsx";
import { matching, type Option, OptionField } from "../components/option-list.tsx";
import { shortcuts } from "../components/shortcuts.ts";
import { pathWith } from "../state/api-client.ts";
import { useNotes } from "../state/notes-list.ts";
import { go } from "../state/page-address.ts";
import { views } from "../views/views.ts";
import { noteHref } from "../views/notes/note-addresses.ts";
import { t } from "../words/translate.ts";

const mostNotes = 30;
const isApple = /Mac|iPhone|iPad/u.test(navigator.userAgent);

/** A key combination as the keyboard of this machine shows it. */
function keyNames(keys: string): string {
  if (keys.startsWith("mod+")) return (isApple ? "⌘" : "Ctrl ") + keys.slice("mod+".length).toUpperCase();
  return keys === "Escape" ? "Esc" : keys;
}

/** Finds views, actions and notes by name, and lists the keys. */
export function Palette({ onClose }: { onClose: () => void }): VNode {
  const [typed, setTyped] = useState("");
  const { data } = useNotes();
  const closing = (run: () => void) => (): void => {
    onClose();
    run();
  };
  const goTo = (address: string): (() => void) => closing(() => go(address));
  const ways: Option[] = shortcuts.value.map(({ keys, label, run }) => {
    const icon = views.find(({ title }) => title === label)?.icon ?? "arrow-up-right";
    return { id: `${keys} ${label}`, text: t(label), icon, hint: <kbd>{keyNames(keys)}</kbd>, run: closing(run) };
  });
  const files = typed === "" ? [] : (data?.notes ?? []);
  const notes = matching(files, typed, ({ title = "", path }) => `${title} ${path}`).slice(0, mostNotes);
  const search: Option = {
    id: "search",
    text: t("palette.search", { words: typed }),
    icon: "search",
    run: goTo(pathWith("/search", { q: typed })),
  };
  const options: Option[] = [
    ...matching(ways, typed, ({ text }) => text).filter(({ text }) => text !== t("keys.palette")),
    ...notes.map(({ path, title }): Option => {
      const name = title ?? path;
      return { id: path, text: name, hint: path, icon: "file-text", run: goTo(noteHref(path)) };
    }),
    ...(typed.trim() === "" ? [] : [search]),
  ];
  return (
    <Dialog title={t("keys.palette")} onClose={onClose} hasHead={false}>
      <div class="palette">
        <OptionField
          id="palette"
          label={t("keys.palette")}
          options={options}
          first={0}
          aria-label={t("keys.palette")}
          placeholder={t("palette.field")}
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </div>
    </Dialog>
  );
}
