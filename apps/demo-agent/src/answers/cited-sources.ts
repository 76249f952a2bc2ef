import { type MemoryTool, type MemoryToolResult, formatCitation, parseCitation } from "@memslot/agent-kit";

const maxSources = 5;
const maxSearched = 3;

/** Records the tool results of one turn, to cite the sources of the answer. */
export class SourceLog {
  #read: string[] = [];
  #found: string[] = [];
  /** Whether a tool that reads memory was used. */
  searched = false;

  watch(tools: readonly MemoryTool[]): MemoryTool[] {
    return tools.map((tool) => ({
      ...tool,
      execute: async (input, options) => {
        this.searched ||= tool.name === "memory_search" || tool.name === "memory_get";
        const output = await tool.execute(input, options);
        this.#note(output);
        return output;
      },
    }));
  }

  #note({ results, path, from, lines, status }: MemoryToolResult): void {
    if (results !== undefined) this.#found.push(...results.slice(0, maxSearched).map(formatCitation));
    else if (status === "ok" && path !== undefined && from !== undefined && lines !== undefined && lines > 0)
      this.#read.push(formatCitation({ path, startLine: from, endLine: from + lines - 1 }));
  }

  clear(): void {
    [this.#read, this.#found, this.searched] = [[], [], false];
  }

  /**
   * Citations, best first: those that the answer names; without any, the lines that were read; without those, the best
   * results. `shown`: files in the prompt.
   */
  behind(answer: string, shown: readonly string[]): string[] {
    const seen = [...this.#read, ...this.#found];
    const paths = new Set([...seen.map(pathOf), ...shown]);
    const cited = [...paths].flatMap((path) => placesIn(answer, path));
    const named = seen.filter((citation) => answer.includes(pathOf(citation)));
    const best = [cited, named, this.#read, this.#found].find((list) => list.length > 0) ?? [];
    return [...new Set(best)].slice(0, maxSources);
  }
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
