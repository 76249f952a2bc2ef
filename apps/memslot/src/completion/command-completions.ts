import type { Command, Help, Option } from "commander";

/** The completions of a command, the only input of the shell scripts. */
export interface CompletedCommand {
  /** Its words without the program name: empty, `memory`, `memory search`. */
  words: string;
  commands: readonly { name: string; description: string }[];
  options: readonly CompletedOption[];
  argument: CompletedValue | undefined;
}

export interface CompletedOption {
  flags: readonly string[];
  description: string;
  value: CompletedValue | undefined;
}

/** `text` cannot be completed; `agents` come from `memslot completion --agents`. */
export type CompletedValue =
  | { kind: "words"; words: readonly string[] }
  | { kind: "files" | "folders" | "agents" | "text" };

/** Value names in the help that are files. */
const fileNames = new Set(["file", "path", "plugin"]);

/** The program and all its commands with their shared options. */
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
    // `help` takes the name of a sibling command.
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
