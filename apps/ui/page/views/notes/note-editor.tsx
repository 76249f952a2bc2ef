import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { signal } from "@preact/signals";
import type { NoteContent } from "@memslot/agent-kit";
import type { NoteChange, NoteConflict, SavedNote } from "../../../src/api-types.ts";
import { AskError, ask, told } from "../../state/api-client.ts";
import { failureText } from "../../components/common-components.tsx";
import { t } from "../../words/translate.ts";
import { type Choice, diffLines, joined, likelyChoices } from "./diff-lines.ts";

const choices: readonly Choice[] = ["mine", "theirs", "both"];

/** The editor of a note. It overwrites no change on disk. */
export function NoteEditor({ path, draft, onSaved }: { path: string; draft: Draft; onSaved: () => void }): VNode {
  const [conflict, setConflict] = useState<Conflict | undefined>(undefined);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const save = async (): Promise<void> => {
    try {
      const body: NoteChange = { path, text: draft.text, sha256: draft.base.sha256 };
      await ask<SavedNote>("/api/notes/file", { method: "PUT", body });
      keepDraft(path, undefined);
      onSaved();
    } catch (error) {
      told(error);
      if (!(error instanceof AskError)) throw error;
      setProblem(failureText(error));
      if (error.status !== 409) return;
      const { note } = error.body as NoteConflict;
      if (note === undefined) setConflict({ gone: true });
      else {
        setConflict({ gone: false, mine: draft.text, theirs: note.text, old: draft.base.text });
        keepDraft(path, { text: draft.text, base: note, mine: draft.text });
      }
    }
  };
  return (
    <section>
      {problem !== undefined && (
        <p class="bad" role="alert">
          {problem}
        </p>
      )}
      {conflict && (
        <ConflictPanel
          conflict={conflict}
          onChosen={(text) => {
            keepDraft(path, { ...draft, text });
            setConflict(undefined);
            setProblem(undefined);
          }}
        />
      )}
      <label class="editor">
        {t("notes.text")}
        <textarea
          value={draft.text}
          spellcheck={false}
          onInput={(event) => keepDraft(path, { ...draft, text: event.currentTarget.value })}
          onKeyDown={(event) => {
            if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
            event.preventDefault();
            void save();
          }}
        />
      </label>
      <p class="row">
        <button type="button" class="main" onClick={() => void save()}>
          {t("notes.save")}
        </button>
        <button type="button" onClick={() => keepDraft(path, undefined)}>
          {t("notes.cancel")}
        </button>
      </p>
    </section>
  );
}

type Conflict = { gone: true } | { gone: false; mine: string; theirs: string; old: string };

/** Both texts side by side where they differ, with a choice for each part. */
function ConflictPanel({ conflict, onChosen }: { conflict: Conflict; onChosen: (text: string) => void }): VNode {
  const parts = conflict.gone ? [] : diffLines(conflict.mine, conflict.theirs);
  const [chosen, setChosen] = useState<Choice[]>(() => (conflict.gone ? [] : likelyChoices(parts, conflict.old)));
  return (
    <section class="notice" aria-label={t("notes.conflict.title")}>
      <h2>{t("notes.conflict.title")}</h2>
      <p>{t(conflict.gone ? "notes.conflict.gone" : "notes.conflict.text")}</p>
      {parts.map((part, index) =>
        part.kind === "same" ? (
          <p key={index} class="faint">
            … {part.lines.length}
          </p>
        ) : (
          <fieldset key={index} class="difference">
            <legend class="row">
              {choices.map((choice) => (
                <label key={choice}>
                  <input
                    type="radio"
                    name={`part-${index}`}
                    checked={chosen[index] === choice}
                    onChange={() => setChosen(chosen.with(index, choice))}
                  />{" "}
                  {t(`notes.conflict.${choice}`)}
                </label>
              ))}
            </legend>
            <pre class="mine">{part.mine.map((line) => `− ${line}`).join("\n")}</pre>
            <pre class="theirs">{part.theirs.map((line) => `+ ${line}`).join("\n")}</pre>
          </fieldset>
        ),
      )}
      {parts.length > 0 && (
        <button type="button" class="main" onClick={() => onChosen(joined(parts, chosen))}>
          {t("notes.conflict.use")}
        </button>
      )}
    </section>
  );
}

export interface Draft {
  text: string;
  /** The state that it was made from and may replace. */
  base: NoteContent;
  /** The text before the merge. */
  mine?: string | undefined;
}

/** By note path. Changing the note or view loses none. */
export const drafts = signal<ReadonlyMap<string, Draft>>(new Map());

export function keepDraft(path: string, draft: Draft | undefined): void {
  const next = new Map(drafts.value);
  if (draft === undefined) next.delete(path);
  else next.set(path, draft);
  drafts.value = next;
}

function isChanged({ text, base }: Draft): boolean {
  return text !== base.text;
}

// Leaving the page loses them: the browser asks first.
addEventListener("beforeunload", (event) => {
  if ([...drafts.value.values()].some((draft) => isChanged(draft))) event.preventDefault();
});
