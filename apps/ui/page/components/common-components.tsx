import type { VNode, ComponentChildren } from "preact";
import { useState, useEffect, useRef } from "preact/hooks";
import { t, isWord } from "../words/translate.ts";
import { AskError } from "../state/api-client.ts";

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
      <span aria-live="polite">{isCopied ? t("common.copied") : (label ?? t("common.copy"))}</span>
    </button>
  );
}

/** A modal dialog. The browser keeps the focus in it, and Escape closes it. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} aria-label={title} onClose={onClose}>
      <header class="dialog-head">
        <h2>{title}</h2>
        <button type="button" class="quiet" onClick={() => dialog.current?.close()}>
          {t("common.close")}
        </button>
      </header>
      {children}
    </dialog>
  );
}

export function Loading(): VNode {
  return (
    <p class="loading" role="status">
      {t("shell.loading")}
    </p>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }): VNode {
  return (
    <section class="empty">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** What went wrong, in words: by its code, else as the server reports it. */
export function failureText(error: unknown): string {
  const kind = `failure.${error instanceof AskError ? error.code : "INTERNAL"}`;
  const message = error instanceof AskError ? error.message : "";
  return [isWord(kind) ? t(kind) : "", message].filter(Boolean).join(" ");
}

/** The kind of a failure, and the server's message in English with the next step. */
export function Failed({ error, onAgain }: { error: AskError; onAgain?: () => void }): VNode {
  const kind = `failure.${error.code}`;
  return (
    <div class="failed" role="alert">
      {isWord(kind) && (
        <p>
          <strong>{t(kind)}</strong>
        </p>
      )}
      {error.message !== "" && <p lang="en">{error.message}</p>}
      {onAgain && (
        <button type="button" onClick={onAgain}>
          {t("shell.error.again")}
        </button>
      )}
    </div>
  );
}
