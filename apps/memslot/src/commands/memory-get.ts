import type { MemoryReadResult } from "@memslot/core";
import { chooseAgent } from "../agents.ts";
import { parseCitationPath } from "../citation-path.ts";
import type { CommandContext } from "../command-context.ts";
import { disabledReason, printDisabled } from "../disabled-memory.ts";
import { ExitCode } from "../exit-code.ts";
import { printable } from "../printable.ts";
import { readConfig } from "../read-config.ts";
import { withMemory } from "../with-memory.ts";

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
  else printForPeople(context, result, agent.workspaceDir);
  return result.status === "ok" ? ExitCode.ok : ExitCode.error;
}

function printForPeople({ output }: CommandContext, result: MemoryReadResult, workspaceDir: string): void {
  if (result.status === "not_found") {
    output.notice(
      `${printable(result.path)}: no such memory file in ${workspaceDir}; memslot memory search finds the right path`,
    );
    return;
  }
  // A pipe gets the lines as they are; a terminal must not be steered by what stands in a note.
  const text = output.isTerminal ? printable(result.text) : result.text;
  output.write(text === "" || text.endsWith("\n") ? text : `${text}\n`);
}
