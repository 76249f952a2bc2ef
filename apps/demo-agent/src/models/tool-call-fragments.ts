import { randomUUID } from "node:crypto";
import type { ToolCall } from "@memslot/agent-kit";

/** A piece of a tool call as chat completions stream it. Servers leave out what they like. */
export interface ToolCallFragment {
  index?: number | null;
  id?: string | null;
  function?: { name?: string | null; arguments?: unknown } | null;
}

/** Puts tool calls together that come in pieces, several at a time. */
export interface ToolCallAssembler {
  add(fragment: ToolCallFragment): void;
  /** The calls in the order in which they began. */
  calls(): ToolCall[];
}

interface Draft {
  readonly index: number | undefined;
  id: string;
  name: string;
  arguments: string;
}

export function createToolCallAssembler(): ToolCallAssembler {
  const drafts: Draft[] = [];

  const draftFor = ({ index, id, function: called }: ToolCallFragment): Draft => {
    const last = typeof index === "number" ? drafts.findLast((draft) => draft.index === index) : drafts.at(-1);
    // Some servers give every call the same index, or none: another id with a name begins another call. Others make up
    // a new id for each piece, so that an id alone says nothing.
    const beginsAnother = id && called?.name && last?.id && id !== last.id;
    if (last !== undefined && !beginsAnother) return last;
    const draft = { index: index ?? undefined, id: "", name: "", arguments: "" };
    drafts.push(draft);
    return draft;
  };

  return {
    add(fragment) {
      const draft = draftFor(fragment);
      const { name, arguments: written } = fragment.function ?? {};
      draft.id ||= fragment.id ?? "";
      // A whole name may be said again with each piece.
      if (name && name !== draft.name) draft.name += name;
      if (typeof written === "string") draft.arguments += written;
      else if (written) draft.arguments += JSON.stringify(written);
    },
    calls() {
      const taken = new Set<string>();
      return drafts
        .filter(({ name, arguments: written }) => name !== "" || written !== "")
        .map(({ id, name, arguments: written }) => {
          const own = id === "" || taken.has(id) ? newCallId() : id;
          taken.add(own);
          return { id: own, name, arguments: written };
        });
    },
  };
}

/** An id for a call that came without one; nine letters and digits, as the strictest endpoint wants them. */
export function newCallId(): string {
  return randomUUID().replaceAll("-", "").slice(0, 9);
}

/** What a model wrote where an object is wanted; undefined where it is none. */
export function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
