import { quoted } from "../terminal/shell-word.ts";
import type { CompletedCommand, CompletedValue } from "./command-completions.ts";

/** A flag of one command, or of all commands. */
interface FlagPlace {
  words: string | "*";
  flag: string;
}

export function flagsWithValue(
  commands: readonly CompletedCommand[],
  fits: (value: CompletedValue) => boolean = () => true,
): FlagPlace[] {
  const all = commands.flatMap((command) =>
    command.options.flatMap(({ flags, value }) =>
      flags.map((flag) => ({ words: command.words, flag, fits: value !== undefined && fits(value) })),
    ),
  );
  const always = new Set(all.map(({ flag }) => flag));
  for (const place of all) if (!place.fits) always.delete(place.flag);
  const some = all.filter((place) => place.fits && !always.has(place.flag));
  return [...[...always].map((flag) => ({ words: "*", flag })), ...some];
}

/** The kinds of values with their flags; each word list is its own kind. */
function valueKinds(commands: readonly CompletedCommand[]): { value: CompletedValue; places: FlagPlace[] }[] {
  const values = new Map<string, CompletedValue>();
  for (const { options } of commands)
    for (const { value } of options) if (value) values.set(JSON.stringify(value), value);
  return [...values].map(([key, value]) => ({
    value,
    places: flagsWithValue(commands, (other) => JSON.stringify(other) === key),
  }));
}

export function flagPattern({ words, flag }: FlagPlace): string {
  return words === "*" ? `*${quoted(`|${flag}`)}` : quoted(`${words}|${flag}`);
}

/** `command|word` for every step from a command to a subcommand, with the target. */
export function stepsOf(commands: readonly CompletedCommand[]): { step: string; leadsTo: string }[] {
  return commands.flatMap(({ words, commands: children }) =>
    children.map(({ name }) => ({ step: `${words}|${name}`, leadsTo: [words, name].filter(Boolean).join(" ") })),
  );
}

/** A `case` branch for bash and zsh; empty without patterns. */
export function branch(patterns: readonly string[], body: string): string[] {
  return patterns.length === 0 ? [] : [`${patterns.join(" | ")}) ${body} ;;`];
}

/** The branches that follow subcommands in the words before the cursor. */
function stepBranches(commands: readonly CompletedCommand[]): string[] {
  return stepsOf(commands).flatMap(({ step, leadsTo }) => branch([quoted(step)], `command=${quoted(leadsTo)}`));
}

export function valueBranches(
  commands: readonly CompletedCommand[],
  completing: (value: CompletedValue) => string,
): string[] {
  return valueKinds(commands).flatMap(({ value, places }) =>
    branch(places.map(flagPattern), `${completing(value)}; return`),
  );
}

export function indented(lines: readonly string[], depth: number): string {
  return lines.map((line) => " ".repeat(depth) + line).join("\n");
}

/** The loop over the words before the cursor; `valued`: branches for flags with a value. */
export function walkedWords(commands: readonly CompletedCommand[], valued: readonly string[]): string {
  return `      -*)
        case "$command|$word" in
${indented(valued, 10)}
        esac ;;
      *)
        case "$command|$word" in
${indented(stepBranches(commands), 10)}
        esac ;;
    esac
    at=$((at + 1))
  done
  if [[ -z $rest ]]; then`;
}

/** The branches that complete subcommands and arguments. */
export function argumentBranches(
  commands: readonly CompletedCommand[],
  how: { names: (children: CompletedCommand["commands"]) => string; completing: (value: CompletedValue) => string },
): string[] {
  return commands.flatMap(({ words, commands: children, argument }) => {
    if (children.length > 0) return branch([quoted(words)], how.names(children));
    return argument === undefined || argument.kind === "text" ? [] : branch([quoted(words)], how.completing(argument));
  });
}
