import { autocompletion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { markdownKeymap, markdownLanguage } from "@codemirror/lang-markdown";
import { syntaxHighlighting } from "@codemirror/language";
import { unifiedMergeView } from "@codemirror/merge";
import { search, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter, tagHighlighter, tags } from "@lezer/highlight";
import { diff3Merge } from "node-diff3";
import type { NoteName } from "../../state/notes-list.ts";
import { t } from "../../words/translate.ts";
import { nameOf } from "./note-addresses.ts";
import theme from "./editor-theme.json" with { type: "json" };

export interface EditorOptions {
  text: string;
  /** First and last line to scroll to. */
  asked?: readonly [from: number, to: number] | undefined;
  /** The text on disk: marks what differs from it, with buttons that take it. */
  against?: string | undefined;
  /** The notes that `[[` completes. */
  notes?: readonly NoteName[] | undefined;
  /** Absent: the text cannot be changed. */
  onChange?: ((text: string) => void) | undefined;
}

const phrases = "Find/Replace/next/previous/all/match case/regexp/by word/replace/replace all/close/Accept/Reject";

/** Of parts that the highlighter of the library has no class for. */
const moreClasses = tagHighlighter([
  { tag: tags.strikethrough, class: "tok-strikethrough" },
  { tag: tags.quote, class: "tok-quote" },
]);

/** An editor of Markdown. Below a shadow root, its styles need no `<style>` element, which the page's policy refuses. */
export function openEditor(place: HTMLElement, options: EditorOptions): EditorView {
  const { text, asked, against, onChange } = options;
  const root = place.shadowRoot ?? place.attachShadow({ mode: "open" });
  const words = phrases.split("/").map((each) => [each, t(`editor.${each}` as "editor.Find")]);
  const isFixed = onChange === undefined;
  const state = EditorState.create({
    doc: text,
    extensions: [
      lineNumbers(),
      history(),
      markdownLanguage,
      search({ top: true }),
      syntaxHighlighting(classHighlighter),
      syntaxHighlighting(moreClasses),
      EditorView.theme(theme),
      EditorView.lineWrapping,
      EditorState.readOnly.of(isFixed),
      EditorState.phrases.of(Object.fromEntries(words)),
      EditorView.contentAttributes.of({ "aria-label": t("notes.text"), spellcheck: "false" }),
      autocompletion({
        override: [(context) => noteLinks(context, options.notes ?? [])],
        icons: false,
        // The list opens after `[[` alone: Enter right after it means the list.
        interactionDelay: 0,
      }),
      keymap.of([...markdownKeymap, ...searchKeymap, ...historyKeymap, ...defaultKeymap]),
      EditorView.updateListener.of(({ docChanged, state: now }) => {
        if (docChanged) onChange?.(now.doc.toString());
      }),
      against === undefined ? [] : unifiedMergeView({ original: against, syntaxHighlightDeletions: false }),
    ],
  });
  const view = new EditorView({ state, root, parent: root });
  const from = state.doc.line(Math.min(asked?.[0] ?? 1, state.doc.lines)).from;
  const to = asked === undefined ? from : state.doc.line(Math.min(asked[1], state.doc.lines)).to;
  // A selection would be replaced by the first letter that is typed.
  const head = isFixed ? to : from;
  view.dispatch({ selection: { anchor: from, head }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
  if (!isFixed) view.focus();
  return view;
}

/** Completes `[[` with the name of a note, or with its path where the name is not unique. */
function noteLinks(context: CompletionContext, notes: readonly NoteName[]): CompletionResult | null {
  const typed = context.matchBefore(/\[\[[^\]\n]*/u);
  if (typed === null) return null;
  const counts = Map.groupBy(notes, ({ path }) => nameOf(path).toLowerCase());
  const options = notes.map(({ path, title }) => {
    const isUnique = counts.get(nameOf(path).toLowerCase())?.length === 1;
    const target = isUnique ? nameOf(path) : path.replace(/\.md$/iu, "");
    const isClosed = context.state.sliceDoc(context.pos, context.pos + 2) === "]]";
    // The typed text is compared with the label.
    const label = `${target} ${title ?? ""} ${path}`;
    return { label, displayLabel: title ?? target, detail: path, apply: isClosed ? target : `${target}]]` };
  });
  return { from: typed.from + 2, options, validFor: /^[^\]\n]*$/u };
}

/** More pairs of lines are not compared. */
const mostPairs = 400_000_000;

/** A text with the changes that another one made to the same base. Lines that both changed are kept from both. */
export function merged(mine: string, base: string, theirs: string): string {
  const [own, old, other] = [mine, base, theirs].map((text) => text.split("\n")) as [string[], string[], string[]];
  if (old.length * Math.max(own.length, other.length) > mostPairs) return `${mine}\n${theirs}`;
  const parts = diff3Merge(own, old, other);
  return parts.flatMap(({ ok, conflict }) => ok ?? [...(conflict?.a ?? []), ...(conflict?.b ?? [])]).join("\n");
}
