import type { ComponentChildren, VNode } from "preact";
import type { AskError } from "../state/ask.ts";
import { isWord, t } from "../words/words.ts";

/** Something is on its way. */
export function Loading(): VNode {
  return (
    <p class="loading" role="status">
      {t("shell.loading")}
    </p>
  );
}

/** There is nothing, and what to do about it. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }): VNode {
  return (
    <section class="empty">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** What kind of failure it is, and what the server has said of it, in English: it names the next step. */
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
