import type { ComponentChildren, VNode } from "preact";
import type { AskError } from "../state/ask.ts";
import { isWord, t } from "../words/words.ts";

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
      <p lang="en">{error.message}</p>
      {onAgain && (
        <button type="button" onClick={onAgain}>
          {t("shell.error.again")}
        </button>
      )}
    </div>
  );
}
