import type { ComponentChildren, VNode } from "preact";
import type { AskError } from "../state/ask.ts";
import { t } from "../words/words.ts";

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

/** What the server has said of a failure: it names the next step. */
export function Failed({ error, onAgain }: { error: AskError; onAgain?: () => void }): VNode {
  return (
    <div class="failed" role="alert">
      <p>{error.message}</p>
      {onAgain && (
        <button type="button" onClick={onAgain}>
          {t("shell.error.again")}
        </button>
      )}
    </div>
  );
}
