import { clientSources } from "../contract/client-sources.ts";
import { MemoryError } from "../contract/errors.ts";
import { type FoundValue, type FoundValues, quoteText } from "./layer.ts";
import { nearestWord } from "./keys/nearest.ts";

const builtIn: readonly string[] = ["memory", "sessions", "journal", ...clientSources];

/**
 * The sources of an agent, each once. Wherever there is a flush, its journal is one: what a conversation has dropped is
 * to be found. Throws `CONFIG` where none is left: nothing could ever be found.
 */
export function checkedSources(
  sources: readonly string[],
  written: FoundValue | undefined,
  { label, hasJournal }: { label: string; hasJournal: boolean },
): readonly string[] {
  if (sources.length > 0) return [...new Set(hasJournal ? [...sources, "journal"] : sources)];
  throw new MemoryError(
    "CONFIG",
    `${label}: ${written?.written ?? "memorySearch.sources"} must name a source, "memory" or "sessions"; to switch memory off, write enabled: false`,
  );
}

/**
 * What a person should know about the sources that these values name: names that only a memory plugin could know, and
 * transcripts that were meant to be indexed and are not. `prefix` is `agents.defaults.` or empty, as the values are keyed.
 */
export function sourceNotices(values: FoundValues, prefix: string, effective: readonly string[]): string[] {
  const notices: string[] = [];
  const named = values.get(`${prefix}memorySearch.sources`);
  for (const name of new Set(Array.isArray(named?.value) ? named.value.map(String) : [])) {
    if (named === undefined || builtIn.includes(name)) continue;
    const nearest = nearestWord(name, builtIn);
    const hint = nearest === undefined ? "" : `; did you mean "${nearest}"?`;
    notices.push(
      `${named.origin}: ${named.written} names ${quoteText(name)}, which is none of the sources here (${builtIn.join(", ")}), so only a memory plugin that knows it finds something there${hint}`,
    );
  }
  const flag = values.get(`${prefix}memorySearch.experimental.sessionMemory`);
  if (flag?.value === true && !effective.includes("sessions"))
    notices.push(
      `${flag.origin}: ${flag.written} has no effect by itself; to index transcripts, name "sessions" in memorySearch.sources`,
    );
  return notices;
}
