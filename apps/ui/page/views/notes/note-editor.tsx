import type { NoteContent } from "@memslot/agent-kit";
import { signal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { AskError, ask } from "../../state/api-client.ts";
import { failureText, Loading } from "../../components/common-components.tsx";
import { useShortcuts } from "../../components/shortcuts.ts";
import { useNotes } from "../../state/notes-list.ts";
import { t } from "../../words/translate.ts";
import { type Draft, drafts, isChanged, keepDraft } from "./drafts.ts";
import type { EditorOptions } from "./markdown-editor.ts";
import { FrontMatter } from "./front-matter.tsx";
import { noteAction } from "./note-dialog.tsx";

interface NoteEditorProps {
  path: string;
  draft: Draft;
  /** The note on disk; undefined: it no longer exists. */
  disk: NoteContent | undefined;
  /** First and last requested line. */
  asked: EditorOptions["asked"];
  /** With the saved note, or without it after a failure. */
  onAnswer: (saved?: NoteContent) => void;
}

/** The editor of a note. It overwrites no change on disk. */
export function NoteEditor({ path, draft, disk, asked, onAnswer }: NoteEditorProps): VNode {
  const [error, setError] = useState<unknown>(undefined);
  const [merges, setMerges] = useState(0);
  const saving = useRef(Promise.resolve());
  /** With the letters that were typed since this was rendered. Undefined: saved or discarded meanwhile. */
  const latest = (): Draft | undefined => drafts.peek().get(path);
  const saveNow = async (): Promise<void> => {
    const sent = latest();
    if (sent === undefined) return;
    const { text, base } = sent;
    try {
      const body = { path, text, sha256: base.sha256 };
      const saved = await ask<NoteContent>("/api/notes/file", { method: disk === undefined ? "POST" : "PUT", body });
      setError(undefined);
      onAnswer(saved);
      const now = latest();
      const isSaved = now === undefined || now.text === text;
      // Lines that were appended to the file meanwhile are not in the draft: the server refuses its old hash.
      const next = saved.text === text ? saved : { ...base, text };
      keepDraft(path, isSaved ? undefined : { ...now, base: next });
    } catch (failure) {
      const isConflict = failure instanceof AskError && failure.code === "CONFLICT";
      setError(isConflict ? undefined : failure);
      onAnswer();
    }
  };
  const save = (): void => void (saving.current = saving.current.then(saveNow));
  const merge = (theirs: NoteContent): void => {
    const { text, base } = latest() ?? draft;
    const merged = editor.value?.merged(text, base.text, theirs.text);
    if (merged !== undefined) keepDraft(path, { text: merged, base: theirs, isMerged: true });
    setMerges(merges + 1);
  };
  const discard = (): void => {
    if (isChanged(draft)) noteAction.value = { action: "discard", path };
    else keepDraft(path, undefined);
  };
  useShortcuts([{ keys: "mod+s", label: "notes.save", run: save }]);
  return (
    <section>
      <p class="bad" role="alert">
        {error !== undefined && failureText(error)}
      </p>
      {disk?.sha256 !== draft.base.sha256 && (
        <section class="notice" role="alert" aria-label={t("notes.conflict.title")}>
          <p>{t(disk ? "notes.conflict.text" : "notes.conflict.gone")}</p>
          {disk && (
            <button type="button" class="main" disabled={editor.value === undefined} onClick={() => merge(disk)}>
              {t("notes.conflict.use")}
            </button>
          )}
        </section>
      )}
      {draft.isMerged && <p class="faint">{t("notes.conflict.merged")}</p>}
      <FrontMatter text={draft.text} />
      <MarkdownEditor
        key={merges}
        text={draft.text}
        asked={asked}
        against={draft.isMerged ? draft.base.text : undefined}
        onChange={(text) => keepDraft(path, { ...(latest() ?? draft), text })}
      />
      <p class="row">
        <button type="button" class="main" onClick={save}>
          {t("notes.save")}
        </button>
        <button type="button" onClick={discard}>
          {t("notes.discard")}
        </button>
      </p>
    </section>
  );
}

const editor = signal<Pick<typeof import("./markdown-editor.ts"), "openEditor" | "merged"> | undefined>(undefined);

/** CodeMirror, which is loaded on first use. Its text is its own after it is shown. */
export function MarkdownEditor(options: Omit<EditorOptions, "notes">): VNode {
  const place = useRef<HTMLDivElement>(null);
  const [isFailed, setFailed] = useState(false);
  const openEditor = editor.value?.openEditor;
  const latest = useRef<EditorOptions>({ ...options });
  Object.assign(latest.current, options, { notes: useNotes().data?.notes });
  useEffect(() => {
    import("./markdown-editor.ts").then(
      ({ openEditor, merged }) => (editor.value = { openEditor, merged }),
      () => setFailed(true),
    );
  }, []);
  useEffect(() => {
    const view = place.current && openEditor?.(place.current, latest.current);
    return () => view?.destroy();
  }, [openEditor]);
  return (
    <>
      {openEditor === undefined && (isFailed ? <p class="bad">{t("failure.OFFLINE")}</p> : <Loading lines={9} />)}
      <div ref={place} class="editor" />
    </>
  );
}
