import { type MemoryReadResult, visibleName, visibleText, nameFromVisible } from "@memslot/core";
import { chooseAgent } from "../../open/agents.ts";
import type { CommandContext } from "../../command-context.ts";
import { disabledReason, printDisabled } from "../../open/disabled-memory.ts";
import { ExitCode } from "../../terminal/exit-code.ts";
import { readConfig } from "../../open/read-config.ts";
import { withMemory } from "../../open/with-memory.ts";
import { parseCitation } from "@memslot/agent-kit";
import { UsageError } from "../../terminal/usage-error.ts";

export interface MemoryGetCommandOptions {
  agent?: string;
  from?: number;
  lines?: number;
  json?: boolean;
}

/** `memslot memory get`: prints lines of a memory file. */
export async function memoryGet(
  context: CommandContext,
  options: MemoryGetCommandOptions,
  target = "",
): Promise<number> {
  const citation = parseCitationPath(target);
  const config = await readConfig(context, { lookAround: true });
  const agent = chooseAgent(config, options.agent);
  context.onAgent(agent.id);
  const disabled = disabledReason(config, agent);
  if (disabled !== undefined) {
    printDisabled(context, agent.id, disabled, options);
    return ExitCode.ok;
  }
  const result = await withMemory(context, config, agent, (memory) =>
    memory.readFile({
      relPath: citation.path,
      from: options.from ?? citation.from,
      lines: options.lines ?? citation.lines,
      signal: context.signal,
    }),
  );
  if (options.json === true) context.output.printJson(result);
  else printForPeople(context, result, agent.workspaceDir, (options.lines ?? citation.lines) !== undefined);
  return result.status === "ok" ? ExitCode.ok : ExitCode.error;
}

/** What a read says inside its text about the lines that follow. Agents need it there; a file on stdout does not. */
const continuation = /\n\[More content available\. Use from=\d+ to continue\.\]$/;

function printForPeople(
  { output }: CommandContext,
  result: MemoryReadResult,
  workspaceDir: string,
  windowWasNamed: boolean,
): void {
  if (result.status === "not_found") {
    output.notice(
      `${visibleName(result.path)}: no such memory file in ${workspaceDir}; memslot memory search finds the right path`,
    );
    return;
  }
  // Behind a pipe stands a terminal or a model as well, and neither must be steered by what stands in a note.
  const text = visibleText(result.text.replace(continuation, ""));
  output.write(text === "" || text.endsWith("\n") ? text : `${text}\n`);
  if (result.nextFrom !== undefined && (result.truncated === true || !windowWasNamed)) {
    output.notice(`${visibleName(result.path)} goes on: --from ${result.nextFrom} shows what follows`);
  }
}

/** What `memory get` was asked for. */
interface CitationPath {
  path: string;
  /** First line, 1-based. */
  from?: number | undefined;
  /** Number of lines. */
  lines?: number | undefined;
}

/**
 * Takes a path as people copy it out of a result: `path`, `path#L3` or `path#L3-L9`. What follows a `#` and is no line
 * range belongs to the name of the file.
 */
export function parseCitationPath(text: string): CitationPath {
  const citation = parseCitation(text);
  if (citation !== undefined) {
    const { path, startLine, endLine } = citation;
    return { path: nameFromVisible(path), from: startLine, lines: endLine - startLine + 1 };
  }
  if (!/#L\d+(?:-L?\d+)?$/u.test(text)) return { path: nameFromVisible(text) };
  throw new UsageError(
    `${text}: lines are counted from 1, and a range ends where it begins or later, as in notes.md#L3-L9`,
  );
}
