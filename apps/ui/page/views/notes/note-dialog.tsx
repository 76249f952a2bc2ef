import type { NoteContent } from "@memslot/agent-kit";
import type { MemoryFileFacts } from "@memslot/core";
import { signal } from "@preact/signals";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { ConfirmDialog } from "../../components/common-components.tsx";
import { ask } from "../../state/api-client.ts";
import { go } from "../../state/page-address.ts";
import { refetch, setAnswer, useQuery } from "../../state/queries.ts";
import { t } from "../../words/translate.ts";
import { keepDraft } from "./drafts.ts";
import { factsPath, nameOf, noteHref, textPath } from "./note-addresses.ts";

interface NoteAction {
  action: "create" | "rename" | "trash" | "discard";
  path: string;
}

/** What the dialog asks for. */
export const noteAction = signal<NoteAction | undefined>(undefined);

const lineOf = ({ path, line }: MemoryFileFacts["backlinks"][number]): string => `${path}:${line}`;

/** Asks for the name of a new note, for another name, or before a note is moved to the trash or a draft is discarded. */
export function NoteDialog({ action, path }: NoteAction): VNode {
  const [to, setTo] = useState(path);
  const isNamed = action === "create" || action === "rename";
  const name = /\.md$/iu.test(to) ? to.trim() : `${to.trim()}.md`;
  const isOfFile = action === "rename" || action === "trash";
  const { data: note } = useQuery<NoteContent>(isOfFile ? textPath(path) : undefined);
  const { data: facts } = useQuery<MemoryFileFacts | null>(isOfFile ? factsPath(path) : undefined);
  const { backlinks = [], backlinkCount = 0 } = facts ?? {};
  const run = async (): Promise<void> => {
    if (action === "discard") return keepDraft(path, undefined);
    const text = `# ${nameOf(name)}\n\n`;
    const made = isOfFile
      ? ask(`/api/notes/${action}`, { body: { path, to: name, sha256: note?.sha256 } }).then(() => note)
      : ask<NoteContent>("/api/notes/file", { body: { path: name, text } });
    // After a failure, too: the next attempt needs the hash of the file as it is then.
    const shown = await made.finally(() => refetch());
    // Not the text of a former note of this name.
    if (action !== "trash") setAnswer(textPath(name), shown);
    go(action === "trash" ? "/notes" : noteHref(name, { edit: action === "create" }));
  };
  return (
    <ConfirmDialog
      title={t(`notes.${action}`)}
      label={isNamed ? t(`notes.${action}`) : `${t(`notes.${action}`)}: ${path}`}
      kind={isNamed ? "main" : "danger"}
      disabled={isNamed && /(?:^|\/)\s*$/u.test(to)}
      onConfirm={run}
      onClose={() => (noteAction.value = undefined)}
    >
      {isNamed ? (
        <label>
          {t("notes.path")}
          <input
            autoFocus
            type="text"
            value={to}
            onFocus={({ currentTarget }) =>
              currentTarget.setSelectionRange(to.lastIndexOf("/") + 1, to.replace(/\.md$/iu, "").length)
            }
            onInput={(event) => setTo(event.currentTarget.value)}
          />
        </label>
      ) : (
        <p>{t(`notes.${action}.text`, { path })}</p>
      )}
      {backlinkCount > 0 && (
        <p class="warn">
          {t("notes.backlinks.stay", { count: backlinkCount })} {backlinks.map(lineOf).join(", ")}
        </p>
      )}
    </ConfirmDialog>
  );
}
