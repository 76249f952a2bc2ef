import type { NoteContent } from "@memslot/agent-kit";
import type { MemoryFileFacts } from "@memslot/core";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Dialog, failureText } from "../../components/common-components.tsx";
import { ask, pathWith } from "../../state/api-client.ts";
import { go } from "../../state/page-address.ts";
import { refetch } from "../../state/queries.ts";
import { t } from "../../words/translate.ts";
import { keepDraft } from "./drafts.ts";
import { noteHref } from "./note-addresses.ts";

interface NoteDialogProps {
  action: "create" | "rename" | "trash" | "discard";
  path: string;
  /** The note that is renamed or moved to the trash. */
  note?: NoteContent | undefined;
  facts?: MemoryFileFacts | null | undefined;
  onClose: () => void;
}

/** Asks for the name of a new note, for another name, or before a note is moved to the trash or a draft is discarded. */
export function NoteDialog({ action, path, note, facts, onClose }: NoteDialogProps): VNode {
  const [to, setTo] = useState(path);
  const [error, setError] = useState<unknown>(undefined);
  const { backlinks = [], backlinkCount = 0 } = facts ?? {};
  const name = /\.md$/iu.test(to) ? to.trim() : `${to.trim()}.md`;
  const hasName = !/(?:^|\/)\.md$/iu.test(name);
  const endOfName = to.replace(/\.md$/iu, "").length;
  const isNamed = action === "create" || action === "rename";
  const run = async (): Promise<void> => {
    if (action === "discard") return keepDraft(path, undefined);
    try {
      if (action === "create") {
        const text = `# ${name.slice(name.lastIndexOf("/") + 1, -".md".length)}\n\n`;
        await ask("/api/notes/file", { body: { path: name, text } });
        const base = await ask<NoteContent>(pathWith("/api/notes/file", { path: name }));
        keepDraft(name, { text: base.text, base });
      } else await ask(`/api/notes/${action}`, { body: { path, to: name, sha256: note?.sha256 } });
      onClose();
      refetch();
      go(action === "trash" ? "/notes" : noteHref(name));
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <Dialog title={t(`notes.${action}`)} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        {!isNamed && <p>{t(`notes.${action}.text`, { path })}</p>}
        {isNamed && (
          <label>
            {t("notes.path")}
            <input
              autoFocus
              type="text"
              value={to}
              onFocus={({ currentTarget }) => currentTarget.setSelectionRange(to.lastIndexOf("/") + 1, endOfName)}
              onInput={(event) => setTo(event.currentTarget.value)}
            />
          </label>
        )}
        {backlinkCount > 0 && (
          <>
            <p class="warn">{t("notes.backlinks.stay", { count: backlinkCount })}</p>
            <ul>
              {backlinks.map(({ path: from, line }) => (
                <li key={`${from} ${line}`}>
                  {from}:{line}
                </li>
              ))}
            </ul>
          </>
        )}
        {error !== undefined && (
          <p class="bad" role="alert">
            {failureText(error)}
          </p>
        )}
        <button type="submit" class={isNamed ? "main" : "danger"} disabled={isNamed && !hasName}>
          {[t(`notes.${action}`), isNamed ? hasName && name : path].filter(Boolean).join(": ")}
        </button>
      </form>
    </Dialog>
  );
}
