import type { VNode, ComponentChildren } from "preact";
import { useState, useLayoutEffect, useRef } from "preact/hooks";
import { named, said, t } from "../words/translate.ts";
import { AskError, facts } from "../state/api-client.ts";
import { choice } from "../state/preferences.ts";
import { refetch } from "../state/queries.ts";
import drawn from "./icons.json" with { type: "json" };

export type IconName = keyof typeof drawn.icons;

/** A picture beside a text or in a button with a label: hidden from screen readers. */
export function Icon({ name }: { name: IconName }): VNode {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={drawn.icons[name]} />
    </svg>
  );
}

/** A button that shows an icon only; its label is its name and its tooltip. */
export function IconButton(props: { icon: IconName; label: string; onClick: () => void }): VNode {
  const { icon, label, onClick } = props;
  return (
    <button type="button" class="quiet" title={label} aria-label={label} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}

const shownMs = 1500;

export function CopyButton({ text, label }: { text: string; label?: string }): VNode {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), shownMs);
  };
  return (
    <button type="button" class="quiet" onClick={() => void copy()}>
      <Icon name={isCopied ? "check" : "copy"} />
      <span aria-live="polite">{isCopied ? t("common.copied") : (label ?? t("common.copy"))}</span>
    </button>
  );
}

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  /** False: the title is the name only, as for the palette. */
  hasHead?: boolean;
}

/** A modal dialog. The browser keeps the focus in it, Escape closes it, and so does a click beside it. */
export function Dialog({ title, onClose, children, hasHead = true }: DialogProps): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  // Before the next key: letters typed right after ⌘K belong to the palette.
  useLayoutEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-label={title}
      onClose={onClose}
      onClick={({ target, currentTarget }) => target === currentTarget && currentTarget.close()}
    >
      {hasHead && (
        <header class="dialog-head">
          <h2>{title}</h2>
          <IconButton icon="x" label={t("common.close")} onClick={() => dialog.current?.close()} />
        </header>
      )}
      {children}
    </dialog>
  );
}

interface ConfirmDialogProps extends DialogProps {
  /** Of the button that confirms. */
  label: string;
  kind?: "main" | "danger";
  disabled?: boolean;
  /** The dialog closes after it, or shows why it failed. */
  onConfirm: () => Promise<void>;
}

/** A dialog that asks before something is done. */
export function ConfirmDialog(props: ConfirmDialogProps): VNode {
  const { label, kind = "danger", disabled, onConfirm, children, ...dialog } = props;
  const [problem, setProblem] = useState<VNode | undefined>(undefined);
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    onConfirm().then(dialog.onClose, (error: unknown) => setProblem(failureText(error)));
  };
  return (
    <Dialog {...dialog}>
      <form onSubmit={onSubmit}>
        {children}
        <p class="bad" role="alert">
          {problem}
        </p>
        <button type="submit" class={kind} disabled={disabled}>
          {label}
        </button>
      </form>
    </Dialog>
  );
}

export const editors = ["vscode", "cursor", "zed", "obsidian", "none"] as const;

/** The program that opens notes; kept in this browser. */
export const editor = choice("editor", editors, "vscode");

/** A link that opens a note of the workspace in the editor of the settings, at a line where the editor can. */
export function OpenInEditor({ path, line }: { path: string; line?: number | undefined }): VNode | null {
  const folder = facts.value?.workspaceDir;
  if (folder === undefined || editor.value === "none") return null;
  const file = `${folder.replaceAll("\\", "/")}/${path}`.split("/").map(encodeURIComponent).join("/");
  const address =
    editor.value === "obsidian"
      ? `obsidian://open?path=${encodeURIComponent(`${folder}/${path}`)}`
      : `${editor.value}://file/${file.replace(/^\//u, "")}${line === undefined ? "" : `:${line}`}`;
  return (
    <a class="button quiet" href={address}>
      <Icon name="external-link" />
      {t("common.openIn", { editor: t(`settings.editor.${editor.value}`) })}
    </a>
  );
}

/** In place of an answer that is not known: a placeholder, or why there is none. */
export function Loading({ lines = 3, error }: { lines?: number; error?: AskError | undefined }): VNode {
  if (error)
    return (
      <div class="failed" role="alert">
        <p>{failureText(error)}</p>
        <button type="button" onClick={() => refetch()}>
          {t("shell.error.again")}
        </button>
      </div>
    );
  return (
    <div class="loading" role="status">
      <span class="hidden">{t("shell.loading")}</span>
      {Array.from({ length: lines }, (_, line) => (
        <i key={line} />
      ))}
    </div>
  );
}

export function Empty(props: { title: string; icon?: IconName; children: ComponentChildren }): VNode {
  const { title, icon, children } = props;
  return (
    <section class="empty">
      {icon && <Icon name={icon} />}
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** A sentence whose code is between backticks. */
export function withCode(text: string): ComponentChildren {
  return text.split("`").map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));
}

/** What went wrong, in words by its code, and the server's message with the next step. */
export function failureText(error: unknown): VNode {
  const { code, sentence } = error instanceof AskError ? error : { code: "INTERNAL", sentence: {} };
  const kind = named("failure", code, "");
  return (
    <>
      {kind && <strong>{kind}</strong>} <span lang={sentence.code ? undefined : "en"}>{said(sentence)}</span>
    </>
  );
}

interface TabsProps<Name extends string> {
  /** Of the tab that is open, and of its panel: `${id}-panel`. */
  id: string;
  names: readonly Name[];
  open: Name;
  labelOf: (name: Name) => string;
  onOpen: (name: Name) => void;
}

/** Tabs above a panel. Arrow keys, Home and End open the next one. */
export function Tabs<Name extends string>({ id, names, open, labelOf, onOpen }: TabsProps<Name>): VNode {
  const list = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent): void => {
    const at = names.indexOf(open);
    const keys: Record<string, number> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 };
    const to = keys[event.key];
    const name = to === undefined ? undefined : names.at(to % names.length);
    if (name === undefined) return;
    event.preventDefault();
    onOpen(name);
    list.current?.querySelectorAll("button")[names.indexOf(name)]?.focus();
  };
  return (
    <div ref={list} class="tabs" role="tablist" onKeyDown={onKeyDown}>
      {names.map((name) => (
        <button
          key={name}
          type="button"
          role="tab"
          id={`${id}-${name}`}
          tabIndex={name === open ? 0 : -1}
          aria-selected={name === open}
          aria-controls={`${id}-panel`}
          onClick={() => onOpen(name)}
        >
          {labelOf(name)}
        </button>
      ))}
    </div>
  );
}

/** The language of a text by its script, for fonts, line breaks and voices; undefined: that of the page. */
export function languageOf(text: string): string | undefined {
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text)) return "ja";
  return /\p{Script=Han}/u.test(text) ? "zh-CN" : undefined;
}
