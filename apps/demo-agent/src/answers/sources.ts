import { type MemoryTool, formatCitation, parseCitation } from "@memslot/agent-kit";

/** Records the tool results of one turn, to cite the sources of the answer. */
export interface SourceLog {
  watch(tools: readonly MemoryTool[]): MemoryTool[];
  clear(): void;
  /** Whether a tool that reads memory was used. */
  readonly searched: boolean;
  /**
   * Citations, best first: those named in the answer, else what was read, else the best results. `shown`: files in the
   * prompt.
   */
  behind(answer: string, shown: readonly string[]): string[];
}

const maxSources = 5;
const maxSearched = 3;

export function createSourceLog(): SourceLog {
  let read: string[] = [];
  let found: string[] = [];
  let searched = false;
  const note = (output: unknown): void => {
    const { results, path, from, lines, status } = (output ?? {}) as {
      results?: { path: string; startLine: number; endLine: number }[];
      path?: string;
      from?: number;
      lines?: number;
      status?: string;
    };
    if (Array.isArray(results)) found.push(...results.slice(0, maxSearched).map(formatCitation));
    else if (status === "ok" && path !== undefined && from !== undefined && lines !== undefined && lines > 0)
      read.push(formatCitation({ path, startLine: from, endLine: from + lines - 1 }));
  };
  return {
    watch: (tools) =>
      tools.map((tool) => ({
        ...tool,
        execute: async (input, options) => {
          searched ||= tool.name === "memory_search" || tool.name === "memory_get";
          const output = await tool.execute(input, options);
          note(output);
          return output;
        },
      })),
    clear: () => void ([read, found, searched] = [[], [], false]),
    get searched() {
      return searched;
    },
    behind: (answer, shown) => {
      const seen = [...read, ...found];
      const paths = new Set([...seen.map(pathOf), ...shown]);
      const cited = [...paths].flatMap((path) => placesIn(answer, path));
      const named = seen.filter((citation) => answer.includes(pathOf(citation)));
      const best = [cited, named, read, found].find((list) => list.length > 0) ?? [];
      return [...new Set(best)].slice(0, maxSources);
    },
  };
}

/** The lines of a note that a text cites. */
function placesIn(text: string, path: string): string[] {
  const places = text.split(`${path}#`).slice(1);
  const citations = places.map((place) => parseCitation(`${path}#${/^L\d+(?:-L?\d+)?/.exec(place)?.[0]}`));
  return citations.flatMap((place) => (place === undefined ? [] : [formatCitation(place)]));
}

function pathOf(citation: string): string {
  return citation.slice(0, citation.lastIndexOf("#"));
}
