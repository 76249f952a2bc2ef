import type { FlushReport } from "@memslot/agent-kit";

export function flushLine({ state, reason, entries, messages }: FlushReport): string {
  const outcome = {
    done: `saved ${messages} messages`,
    nothing: "found nothing worth keeping",
    failed: "failed, the messages stay in the journal",
    skipped: "was skipped, the messages stay in the journal",
    digested:
      entries.length > 0
        ? `wrote a plain digest of ${messages} messages`
        : `found nothing to note in ${messages} messages without a model, they stay in the journal`,
  }[state];
  return `The memory flush ${outcome}${entries.length === 0 ? "" : ` to ${entries.join(", ")}`}${reason === undefined ? "" : ` (${reason})`}.`;
}
