import { type MemoryReadResult, visibleName, visibleText } from "@memslot/core";
import { chooseAgent } from "../../open/agents.ts";
import { parseCitationPath } from "../../open/citation-path.ts";
import type { CommandContext } from "../../command-context.ts";
import { disabledReason, printDisabled } from "../../open/disabled-memory.ts";
import { ExitCode } from "../../terminal/exit-code.ts";
import { readConfig } from "../../open/read-config.ts";
import { withMemory } from "../../open/with-memory.ts";

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
  const config = await readConfig(context);
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
