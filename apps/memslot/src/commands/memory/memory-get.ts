import { realpath } from "node:fs/promises";
import path from "node:path";
import {
  type Memory,
  MemoryError,
  type MemoryReadParams,
  type MemoryReadResult,
  visibleName,
  visibleText,
} from "@memslot/core";
import { nameFromVisible } from "@memslot/core/host";
import { codeOf } from "@memslot/core/files";
import { parseCitation } from "@memslot/agent-kit";
import { chooseAgent, disabledReason, printDisabled } from "../../open/choose-agents.ts";
import type { CommandContext, CommonOptions } from "../../command-context.ts";
import { ExitCode, UsageError } from "../../terminal/exit-code.ts";
import { readConfig } from "../../open/read-config.ts";
import { resolvePath } from "../../open/find-notes-folder.ts";
import { withMemory } from "../../open/with-memory.ts";
import { shellWord } from "../../terminal/shell-word.ts";

export interface MemoryGetCommandOptions extends CommonOptions {
  from?: number;
  lines?: number;
}

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
  const from = options.from ?? citation.from;
  const lines = options.lines ?? citation.lines;
  const params = { path: citation.path, from, lines, signal: context.signal };
  const read = (memory: Memory): Promise<MemoryReadResult> => readFromHere(context, memory, agent.workspaceDir, params);
  const result = await withMemory(context, config, agent, read, { oneShot: true });
  if (result.status === "ok" && result.lines === 0 && (from ?? 1) > 1) {
    const name = visibleName(result.path);
    const word = shellWord(name);
    throw new UsageError(`${name} ends before line ${from}; run memslot memory get ${word} to print it from the start`);
  }
  if (options.json === true) context.output.printJson(result);
  else printForPeople(context, result, agent.workspaceDir, lines !== undefined);
  return result.status === "ok" ? ExitCode.ok : ExitCode.error;
}

/** Reads a file by its path in the workspace, else from the current folder. */
async function readFromHere(
  { cwd, env }: CommandContext,
  memory: Memory,
  workspaceDir: string,
  params: MemoryReadParams & { path: string },
): Promise<MemoryReadResult> {
  const asked = await memory.readFile(params).catch((error: unknown) => {
    if (MemoryError.is(error, "PATH_NOT_ALLOWED")) return error;
    throw error;
  });
  if (!(asked instanceof Error) && asked.status === "ok") return asked;
  const inWorkspace = await pathInWorkspace(resolvePath(params.path, cwd, env), workspaceDir);
  if (inWorkspace !== undefined && inWorkspace !== params.path) {
    const found = await memory.readFile({ ...params, path: inWorkspace });
    if (found.status === "ok") return found;
  }
  if (asked instanceof Error) throw asked;
  return asked;
}

async function pathInWorkspace(absolutePath: string, workspaceDir: string): Promise<string | undefined> {
  try {
    const [folder, workspace] = await Promise.all([realpath(path.dirname(absolutePath)), realpath(workspaceDir)]);
    const relative = path.relative(workspace, path.join(folder, path.basename(absolutePath)));
    const isBelow = !path.isAbsolute(relative) && relative !== ".." && !relative.startsWith(`..${path.sep}`);
    return isBelow ? relative.replaceAll(path.sep, "/") : undefined;
  } catch (error) {
    // Missing, not a folder, not readable, an invalid name: the first answer is enough.
    if (codeOf(error) !== undefined) return undefined;
    throw error;
  }
}

/** The line that a read adds about more content: for agents, not for a file on stdout. */
const continuation = /\n\[More content available\. Use from=\d+ to continue\.\]$/;

function printForPeople(
  { output }: CommandContext,
  result: MemoryReadResult,
  workspaceDir: string,
  windowWasNamed: boolean,
): void {
  if (result.status === "not_found") {
    output.notice(
      `${visibleName(result.path)}: no such note in ${workspaceDir}; memslot memory search finds the right path`,
    );
    return;
  }
  // The text may reach a terminal or a model through a pipe; a note must not control either.
  const text = visibleText(result.text.replace(continuation, ""));
  output.write(text === "" || text.endsWith("\n") ? text : `${text}\n`);
  if (result.nextFrom !== undefined && (result.truncated === true || !windowWasNamed)) {
    output.notice(`${visibleName(result.path)} continues: --from ${result.nextFrom} shows the next lines`);
  }
}

interface CitationPath {
  path: string;
  from?: number | undefined;
  lines?: number | undefined;
}

/**
 * Reads a path as copied from a result: `path`, `path:12`, `path:12-20`, `path#L3-L9`. Anything else is part of the
 * name.
 */
export function parseCitationPath(text: string): CitationPath {
  const citation = parseCitation(text);
  if (citation !== undefined) {
    const { path: name, startLine, endLine } = citation;
    return { path: nameFromVisible(name), from: startLine, lines: endLine - startLine + 1 };
  }
  if (!/(?:#L\d+(?:-L?\d+)?|:\d+(?:[-:]\d+)?:?)$/u.test(text)) return { path: nameFromVisible(text) };
  throw new UsageError(`${text}: lines start at 1, and a range cannot end before it starts, as in notes.md:3-9`);
}
