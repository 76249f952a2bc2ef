import type { Command, Help, Option } from "commander";

/** What can be typed after a command, as its program says: the shells' scripts are made of nothing else. */
export interface CompletedCommand {
  /** The words that lead to it, without the name of the program: empty, `memory`, `memory search`. */
  words: string;
  commands: readonly { name: string; description: string }[];
  options: readonly CompletedOption[];
  /** What its arguments are. */
  argument: CompletedValue | undefined;
}

export interface CompletedOption {
  /** `-n`, `--max-results`. */
  flags: readonly string[];
  description: string;
  /** Undefined where it takes none. */
  value: CompletedValue | undefined;
}

/** `text` cannot be completed; `agents` are asked for with `memslot completion --agents`. */
export type CompletedValue =
  | { kind: "words"; words: readonly string[] }
  | { kind: "files" | "folders" | "agents" | "text" };

/** How the names of values that are files are written in the help. */
const fileNames = new Set(["file", "path", "plugin"]);

/** The program and all its commands, with the options that they share. */
export function completedCommands(program: Command): CompletedCommand[] {
  return describe(program, program.createHelp(), [], []);
}

function describe(
  command: Command,
  help: Help,
  words: readonly string[],
  neighbours: readonly string[],
): CompletedCommand[] {
  const commands = help.visibleCommands(command);
  const options = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)];
  const names = commands.map((child) => child.name());
  const [argument] = command.registeredArguments;
  const here: CompletedCommand = {
    words: words.join(" "),
    commands: commands.map((child) => ({ name: child.name(), description: child.description() })),
    options: options.map(describeOption),
    // `help` takes the name of a neighbour.
    argument:
      argument && valueOf(argument.name(), argument.argChoices ?? (words.at(-1) === "help" ? neighbours : undefined)),
  };
  return [here, ...commands.flatMap((child) => describe(child, help, [...words, child.name()], names))];
}

function describeOption(option: Option): CompletedOption {
  const flags = [option.short, option.long].filter((flag) => flag !== undefined);
  const [, name] = /[<[]([^>\].]+)/u.exec(option.flags) ?? [];
  const isAgent = option.long === "--agent";
  const value = isAgent
    ? ({ kind: "agents" } as const)
    : name === undefined
      ? undefined
      : valueOf(name, option.argChoices);
  return { flags, description: option.description, value };
}

function valueOf(name: string, choices: readonly string[] | undefined): CompletedValue {
  if (choices) return { kind: "words", words: choices };
  if (name === "dir") return { kind: "folders" };
  return { kind: fileNames.has(name) ? "files" : "text" };
}
