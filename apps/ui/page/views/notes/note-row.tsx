import type { VNode } from "preact";
import { Empty, Icon, type IconName, languageOf } from "../../components/common-components.tsx";
import { facts } from "../../state/api-client.ts";
import { t, when } from "../../words/translate.ts";
import { noteHref } from "./note-addresses.ts";

interface NoteRowProps {
  path: string;
  title: string | undefined;
  icon?: IconName;
  /** ISO 8601 */
  at?: string | undefined;
}

/** A note in a list of the class `rows`: its title, or its path, and when it was changed. */
export function NoteRow({ path, title = path, icon = "file-text", at }: NoteRowProps): VNode {
  return (
    <li>
      <a href={noteHref(path)} title={path}>
        <Icon name={icon} />
        <span class="line grow" lang={languageOf(title)}>
          {title}
        </span>
        {at !== undefined && <time class="faint small">{when(at, { dateStyle: "medium" })}</time>}
      </a>
    </li>
  );
}

/** Without a note: how to get some. */
export function NoNotes(): VNode {
  return (
    <Empty title={t("notes.empty.title")} icon="notebook-text">
      <p>{t("notes.empty.text", { folder: facts.value?.workspaceDir ?? "" })}</p>
    </Empty>
  );
}
