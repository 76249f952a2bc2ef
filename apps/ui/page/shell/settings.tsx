import type { VNode } from "preact";
import { Dialog } from "../components/common-components.tsx";
import { editor, editors } from "../components/open-in-editor.tsx";
import { language, languages, theme, themes } from "../state/preferences.ts";
import { t, type WordName } from "../words/translate.ts";

/** Settings of the page, kept in this browser. */
export function Settings({ onClose }: { onClose: () => void }): VNode {
  return (
    <Dialog title={t("settings.title")} onClose={onClose}>
      <div class="settings">
        <Choice label="shell.theme" names={themes} at={theme} textOf={(name) => t(`shell.theme.${name}`)} />
        <Choice
          label="shell.language"
          names={languages}
          at={language}
          textOf={(name) => (name === "zh" ? "中文" : "English")}
        />
        <Choice label="settings.editor" names={editors} at={editor} textOf={(name) => t(`settings.editor.${name}`)} />
      </div>
      <p class="faint small">{t("settings.where")}</p>
    </Dialog>
  );
}

interface ChoiceProps<Name extends string> {
  label: WordName;
  names: readonly Name[];
  at: { value: Name };
  textOf: (name: Name) => string;
}

function Choice<Name extends string>({ label, names, at, textOf }: ChoiceProps<Name>): VNode {
  return (
    <label>
      {t(label)}
      <select value={at.value} onChange={(event) => (at.value = event.currentTarget.value as Name)}>
        {names.map((name) => (
          <option key={name} value={name}>
            {textOf(name)}
          </option>
        ))}
      </select>
    </label>
  );
}
