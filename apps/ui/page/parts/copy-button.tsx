import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { t } from "../words/words.ts";

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
