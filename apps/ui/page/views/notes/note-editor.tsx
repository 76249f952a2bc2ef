import type { NoteContent } from "@memslot/agent-kit";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { AskError, ask } from "../../state/api-client.ts";
import { failureText, Loading } from "../../components/common-components.tsx";
import { useShortcuts } from "../../components/shortcuts.ts";
import { useNotes } from "../../state/notes-list.ts";
import { t } from "../../words/translate.ts";
import { type Draft, isChanged, keepDraft } from "./drafts.ts";
import type { EditorOptions } from "./markdown-editor.ts";
import { FrontMatter } from "./front-matter.tsx";
import { NoteDialog } from "./note-dialog.tsx";

interface NoteEditorProps {
  path: string;
  draft: Draft;
  /** The note on disk; undefined: it no longer exists. */
  disk: NoteContent | undefined;
  /** First and last requested line. */
  asked: EditorOptions["asked"];
  /** The note was saved, or was found changed. */
  onAnswer: () => void;
}

/** The editor of a note. It overwrites no change on disk. */
export function NoteEditor({ path, draft, disk, asked, onAnswer }: NoteEditorProps): VNode {
  const [error, setError] = useState<unknown>(undefined);
  const [isAsking, setAsking] = useState(false);
  const latest = useRef(draft);
  latest.current = draft;
  const isGone = disk === undefined;
  const isOld = !isGone && disk.sha256 !== draft.base.sha256;
  const save = async (): Promise<void> => {
    const { text, base } = latest.current;
    try {
      const body = { path, text, sha256: base.sha256 };
      await ask("/api/notes/file", { method: isGone ? "POST" : "PUT", body });
      keepDraft(path, undefined);
    } catch (failure) {
      const isConflict = failure instanceof AskError && failure.status === 409;
      setError(isConflict ? undefined : failure);
    }
    onAnswer();
  };
  const merge = async (): Promise<void> => {
    if (isGone) return;
    const { merged } = await import("./markdown-editor.ts");
    const { text, base } = latest.current;
    keepDraft(path, { text: merged(text, base.text, disk.text), base: disk, isMerged: true });
  };
  useShortcuts([{ keys: "mod+s", label: "notes.save", run: () => void save() }]);
  return (
    <section>
      {error !== undefined && (
        <p class="bad" role="alert">
          {failureText(error)}
        </p>
      )}
      {(isGone || isOld) && (
        <section class="notice" role="alert" aria-label={t("notes.conflict.title")}>
          <p>{t(isGone ? "notes.conflict.gone" : "notes.conflict.text")}</p>
          {isOld && (
            <button type="button" class="main" onClick={() => void merge()}>
              {t("notes.conflict.use")}
            </button>
          )}
        </section>
      )}
      {draft.isMerged === true && <p class="faint">{t("notes.conflict.merged")}</p>}
      <FrontMatter text={draft.text} />
      <MarkdownEditor
        key={draft.base.sha256}
        text={draft.text}
        asked={asked}
        against={draft.isMerged === true ? draft.base.text : undefined}
        onChange={(text) => keepDraft(path, { ...latest.current, text })}
      />
      <p class="row">
        <button type="button" class="main" onClick={() => void save()}>
          {t("notes.save")}
        </button>
        <button type="button" onClick={() => (isChanged(draft) ? setAsking(true) : keepDraft(path, undefined))}>
          {t("notes.discard")}
        </button>
      </p>
      {isAsking && <NoteDialog action="discard" path={path} onClose={() => setAsking(false)} />}
    </section>
  );
}

/** CodeMirror, which is loaded on first use. Its text is its own after it is shown. */
export function MarkdownEditor(options: Omit<EditorOptions, "notes">): VNode {
  const place = useRef<HTMLDivElement>(null);
  const [state, setState] = useState<"loading" | "shown" | "failed">("loading");
  const notes = useNotes().data?.notes;
  const current = useRef({ ...options, notes });
  Object.assign(current.current, options, { notes });
  useEffect(() => {
    const opened = import("./markdown-editor.ts").then(
      ({ openEditor }) => {
        if (place.current === null) return undefined;
        setState("shown");
        return openEditor(place.current, current.current);
      },
      () => void setState("failed"),
    );
    return () => void opened.then((view) => view?.destroy());
  }, []);
  return (
    <>
      {state === "loading" && <Loading lines={9} />}
      {state === "failed" && <p class="bad">{t("failure.OFFLINE")}</p>}
      <div ref={place} class="editor" />
    </>
  );
}
