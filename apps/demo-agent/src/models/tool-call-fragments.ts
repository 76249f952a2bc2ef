import { randomUUID } from "node:crypto";
import type { ToolCall } from "@memslot/agent-kit";

/** A delta of a tool call. Servers omit any of its fields. */
export interface ToolCallFragment {
  index?: number | null;
  id?: string | null;
  function?: { name?: string | null; arguments?: unknown } | null;
}

interface Draft {
  readonly index: number | undefined;
  id: string;
  name: string;
  arguments: string;
}

export class ToolCallAssembler {
  readonly #drafts: Draft[] = [];

  add(fragment: ToolCallFragment): void {
    const draft = this.#draftFor(fragment);
    const { name, arguments: written } = fragment.function ?? {};
    draft.id ||= fragment.id ?? "";
    if (name && name !== draft.name) draft.name += name;
    if (typeof written === "string") draft.arguments += written;
    else if (written) draft.arguments += JSON.stringify(written);
  }

  #draftFor({ index, id, function: called }: ToolCallFragment): Draft {
    const drafts = this.#drafts;
    const last = typeof index === "number" ? drafts.findLast((draft) => draft.index === index) : drafts.at(-1);
    // Some servers give every call the same index, or a new id to each delta: only a new id with a name begins a call.
    const beginsAnother = id && called?.name && last?.id && id !== last.id;
    if (last !== undefined && !beginsAnother) return last;
    const draft = { index: index ?? undefined, id: "", name: "", arguments: "" };
    drafts.push(draft);
    return draft;
  }

  calls(): ToolCall[] {
    const taken = new Set<string>();
    return this.#drafts
      .filter(({ name, arguments: written }) => name !== "" || written !== "")
      .map(({ id, name, arguments: written }) => {
        const own = id === "" || taken.has(id) ? newCallId() : id;
        taken.add(own);
        return { id: own, name, arguments: written };
      });
  }
}

export function newCallId(): string {
  return randomUUID().replaceAll("-", "").slice(0, 9);
}

export function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
