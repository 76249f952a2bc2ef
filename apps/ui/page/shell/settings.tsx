import type { VNode } from "preact";
import { Dialog } from "../components/common-components.tsx";
import { editor, editors } from "../components/open-in-editor.tsx";
import { language, languages, theme, themes } from "../state/preferences.ts";
import { t, type WordName } from "../words/translate.ts";

const choices: readonly { label: WordName; names: readonly string[]; at: { value: string } }[] = [
  { label: "shell.theme", names: themes, at: theme },
  { label: "shell.language", names: languages, at: language },
  { label: "settings.editor", names: editors, at: editor },
];

/** Settings of the page, kept in this browser. */
export function Settings({ onClose }: { onClose: () => void }): VNode {
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
