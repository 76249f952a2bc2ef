import { clientIds } from "@memslot/core";

const word = String.raw`"(?:[^"\\]|\\.)*"|[^\s"]+`;
const hookLine = new RegExp(
  String.raw`^(?:& )?(?:(?<node>${word})\s+)??(?<source>--conditions=@memslot/source\s+)?(?<program>${word})\s+hook\s+(?:${clientIds.join("|")})(?:\s|$)`,
  "u",
);

/** Whether words start this program, of any installation: Node and the path of the program, or that path alone. */
function runsProgram(node: string | undefined, isSource: boolean, program: string): boolean {
  const isNode =
    node === undefined || node === process.execPath || /(?:^|[/\\])node(?:js)?[\d.-]*(?:\.exe)?$/u.test(node);
  const ending = isSource ? /[/\\]src[/\\]cli\.ts$/u : /(?:(?:^|[/\\])memslot\.js|(?:^|[/\\])bin[/\\]memslot)$/u;
  return isNode && ending.test(program);
}

/** Whether `memslot connect` of any installation writes such a command line. */
function runsHook(command: string): boolean {
  const { node, source, program } = hookLine.exec(command)?.groups ?? {};
  return program !== undefined && runsProgram(bare(node), source !== undefined, bare(program));
}

function bare<T extends string | undefined>(text: T): T {
  return text?.replace(/^"(?<inner>.*)"$/u, "$<inner>") as T;
}

/** Whether a hook of an agent's configuration runs this program alone: a handler, or a group of handlers. */
export function isOwnHook(item: unknown): boolean {
  if (typeof item !== "object" || item === null) return false;
  const { command, args, hooks } = item as Record<string, unknown>;
  if (Array.isArray(hooks)) return hooks.length > 0 && hooks.every(isOwnHook);
  return typeof command === "string" && args === undefined && runsHook(command);
}

/** Whether `memslot connect` of any installation writes such an MCP server. */
export function isOwnServer(entry: unknown): boolean {
  if (typeof entry !== "object" || entry === null) return false;
  const { command, args } = entry as Record<string, unknown>;
  const words: unknown[] = [command, args].flat();
  const end = words.indexOf("mcp");
  const start = words.slice(0, Math.max(end, 0));
  if (!start.every((each) => typeof each === "string")) return false;
  const program = start.at(-1);
  const rest = start.slice(0, -1).filter((each) => each !== "--conditions=@memslot/source");
  return program !== undefined && rest.length <= 1 && runsProgram(rest[0], rest.length < start.length - 1, program);
}
