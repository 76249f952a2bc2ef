import { hasListener, traceCall } from "@memslot/core/host";
import type { NoteIndex } from "./note-index.ts";

const untold: ReadonlySet<string> = new Set(["health", "slept"]);
type Call = (...given: readonly unknown[]) => Promise<unknown>;

/** Publishes the calls of an index on `memslot:store`, with counts only. */
export function tracedIndex(index: NoteIndex, names: { agentId: string; backend: string }): NoteIndex {
  return traced(index, "");

  function traced<Part extends object>(part: Part, of: string): Part {
    return new Proxy(part, {
      get(own, name): unknown {
        const member: unknown = Reflect.get(own, name);
        if (typeof name !== "string") return member;
        if (typeof member === "object" && member !== null) return traced(member, `${name}.`);
        if (typeof member !== "function") return member;
        const call = (member as Call).bind(own);
        if (untold.has(name)) return call;
        if (name === "startBuild") return async (...given: readonly unknown[]) => await begun(call, name, given);
        return hasListener("store") ? (...given: readonly unknown[]) => told(call, of + name, given) : call;
      },
    });
  }

  function told(call: Call, operation: string, given: readonly unknown[]): Promise<unknown> {
    const list = given.map(countedIn).find((count) => count !== undefined);
    return traceCall(
      "store",
      () => ({ ...names, operation, ...(list !== undefined && { given: list }) }),
      () => call(...given),
      foundIn,
    );
  }

  async function begun(call: Call, operation: string, given: readonly unknown[]): Promise<unknown> {
    const files = await told(call, operation, given);
    return typeof files === "object" && files !== null ? traced(files, "builds.") : files;
  }
}

function countedIn(argument: unknown): number | undefined {
  const list = typeof argument === "object" && argument !== null && "terms" in argument ? argument.terms : argument;
  return Array.isArray(list) ? list.length : undefined;
}

function foundIn(answer: unknown): { found?: number } {
  const rows = typeof answer === "object" && answer !== null && "rows" in answer ? answer.rows : answer;
  return Array.isArray(rows) ? { found: rows.length } : {};
}
