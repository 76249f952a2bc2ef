import type { VNode } from "preact";
import type { TranscriptShown } from "@memslot/agent-kit";
import { t, when } from "../../words/words.ts";

/** One entry of a transcript as plain text, never as Markdown. */
export function TranscriptLine({ entry }: { entry: TranscriptShown }): VNode {
  const { at, text, characters } = entry;
  const who =
    entry.kind === "message"
      ? t(`sessions.role.${entry.role}`)
      : entry.kind === "result"
        ? t("sessions.role.tool", { tool: entry.tool })
        : t("sessions.role.compaction");
  const kind = entry.kind === "message" ? entry.role : entry.kind;
  return (
    <li class={`said-by ${kind}`}>
      <p class="faint">
        <strong>{who}</strong> {at !== undefined && when(at, { dateStyle: "medium", timeStyle: "medium" })}
      </p>
      {text !== "" && <p class="said">{text}</p>}
      {characters !== undefined && <p class="faint">{t("sessions.longer", { count: characters })}</p>}
      {entry.kind === "message" &&
        entry.toolCalls?.map(({ name, arguments: given }, place) => (
          <p key={place} class="said mono">
            → {name} {given}
          </p>
        ))}
    </li>
  );
}
