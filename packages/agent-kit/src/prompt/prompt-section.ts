import type { CitationsMode } from "../citations.ts";
import texts from "../model-texts.json" with { type: "json" };

interface Line {
  readonly text: string;
  readonly all?: readonly string[];
  readonly any?: readonly string[];
  readonly none?: readonly string[];
  readonly citations?: string;
}

/** The lines of a system prompt that teach an agent to use its memory; `[]` if it has none of the tools. */
export function memoryPromptSection(options: {
  availableTools: ReadonlySet<string>;
  citations: CitationsMode;
}): string[] {
  const has = (tool: string): boolean => options.availableTools.has(tool);
  const lines = (texts.section as readonly Line[]).filter(
    ({ all = [], any, none = [], citations = options.citations }) =>
      all.every(has) && any?.some(has) !== false && !none.some(has) && citations === options.citations,
  );
  if (lines.length === 0) return [];
  const heading = has("memory_search") || has("memory_get") ? "## Memory Recall" : "## Memory";
  return [heading, ...lines.map(({ text }) => text)];
}
