import type { VNode } from "preact";
import { Empty } from "../../components/common-components.tsx";
import { facts } from "../../state/api-client.ts";
import { t } from "../../words/translate.ts";

/** Without a note: how to get some. */
export function NoNotes(): VNode {
  return (
    <Empty title={t("notes.empty.title")} icon="notebook-text">
      <p>{t("notes.empty.text", { folder: facts.value?.workspaceDir ?? "" })}</p>
    </Empty>
  );
}
