import { clientIds, clientSources } from "@memslot/core";
import { Argument, type Command, InvalidArgumentError, Option } from "commander";
import data from "./commands.json" with { type: "json" };

const lists = { clients: clientIds, sources: clientSources };

/** An argument or an option. An argument without a text lists its choices. */
interface ValueRow {
  readonly flags: string;
  readonly text?: string;
  readonly choices?: keyof typeof lists | readonly string[];
  /** A whole number: the lowest and, if there is one, the highest. */
  readonly whole?: readonly number[];
  readonly parse?: "fraction" | "list";
  readonly default?: string;
  readonly hidden?: boolean;
}

/** A command: its words, its help, and what it takes. */
interface CommandRow {
  readonly name: string;
  readonly text: string;
  /** The command of its group that runs without a name. */
  readonly isDefault?: boolean;
  readonly arguments?: readonly ValueRow[];
  /** In the order of the help; a string is one of `sharedOptions`. */
  readonly options?: readonly (string | ValueRow)[];
  readonly examples?: readonly string[];
  /** Lines after the examples. */
  readonly help?: readonly string[];
}

const table = data as { sharedOptions: Readonly<Record<string, ValueRow>>; commands: readonly CommandRow[] };

/** Adds the commands of `commands.json` to the program. `handler` makes the handler of one from its words. */
export function addCommands(program: Command, handler: (name: string) => Parameters<Command["action"]>[0]): void {
  const groups = new Map([["", program]]);
  for (const row of table.commands) {
    const words = row.name.split(" ");
    const parent = groups.get(words.slice(0, -1).join(" ")) ?? program;
    const command = parent.command(words.at(-1) ?? "", { isDefault: row.isDefault === true }).description(row.text);
    groups.set(row.name, command);
    for (const each of row.arguments ?? []) command.addArgument(argumentOf(each));
    for (const each of row.options ?? []) {
      const option = typeof each === "string" ? table.sharedOptions[each] : each;
      if (option !== undefined) command.addOption(optionOf(option));
    }
    if (row.examples !== undefined) command.addHelpText("after", examples(row.examples));
    if (row.help !== undefined) command.addHelpText("after", row.help.join("\n"));
    const isGroup = table.commands.some(({ name }) => name.startsWith(`${row.name} `));
    if (!isGroup) command.action(handler(row.name));
  }
}

export function examples(commands: readonly string[]): string {
  return `\nExamples:\n${commands.map((command) => `  $ ${command}`).join("\n")}`;
}

function argumentOf({ flags, text, choices }: ValueRow): Argument {
  const all = choicesOf(choices);
  const argument = new Argument(flags, text ?? new Intl.ListFormat("en-GB", { type: "disjunction" }).format(all));
  return all.length > 0 ? argument.choices(all) : argument;
}

function optionOf({ flags, text, choices, whole, parse, default: usual, hidden = false }: ValueRow): Option {
  const option = new Option(flags, text).hideHelp(hidden);
  if (choices !== undefined) option.choices(choicesOf(choices));
  if (whole !== undefined) option.argParser(wholeNumber(whole));
  if (parse === "fraction") option.argParser(fraction);
  if (parse === "list") option.argParser(collect);
  return usual === undefined ? option : option.default(usual);
}

function choicesOf(choices: ValueRow["choices"] = []): readonly string[] {
  return typeof choices === "string" ? lists[choices] : choices;
}

function wholeNumber([lowest = 0, highest = Number.MAX_SAFE_INTEGER]: readonly number[]): (text: string) => number {
  return (text) => {
    const value = /^[+]?\d+$/u.test(text.trim()) ? Number(text) : Number.NaN;
    if (Number.isSafeInteger(value) && value >= lowest && value <= highest) return value;
    const range = highest === Number.MAX_SAFE_INTEGER ? `of ${lowest} or more` : `from ${lowest} to ${highest}`;
    throw new InvalidArgumentError(`It must be a whole number ${range}.`);
  };
}

function fraction(text: string): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError("It must be a number from 0 to 1.");
}

function collect(text: string, earlier: readonly string[] | undefined): string[] {
  return [...(earlier ?? []), text];
}
