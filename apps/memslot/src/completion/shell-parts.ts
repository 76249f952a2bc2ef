import type { CompletedCommand, CompletedOption, CompletedValue } from "./completed-command.ts";

/** A text as one word for a shell of the family of `sh`. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** `command|flag` for every flag that is followed by a value, of one kind of value where it is given. */
export function flagsWithValue(
  command: CompletedCommand,
  fits: (value: CompletedValue) => boolean = () => true,
): string[] {
  const options = command.options.filter(({ value }) => value !== undefined && fits(value));
  return options.flatMap((option) => flagsOf(command, option));
}

export function flagsOf(command: CompletedCommand, option: CompletedOption): string[] {
  return option.flags.map((flag) => `${command.words}|${flag}`);
}

/** `command|word` for every step from a command to one below it, with where it leads. */
export function stepsOf(commands: readonly CompletedCommand[]): { step: string; leadsTo: string }[] {
  return commands.flatMap(({ words, commands: children }) =>
    children.map(({ name }) => ({ step: `${words}|${name}`, leadsTo: [words, name].filter(Boolean).join(" ") })),
  );
}

/** A branch of `case`, the same in bash and zsh; empty where nothing leads to it. */
export function branch(patterns: readonly string[], body: string): string[] {
  return patterns.length === 0 ? [] : [`${patterns.map(quoted).join(" | ")}) ${body} ;;`];
}

/** Lines further to the right. */
export function indented(lines: readonly string[], depth: number): string {
  return lines.map((line) => " ".repeat(depth) + line).join("\n");
}
