import type { CompletedCommand, CompletedOption, CompletedValue } from "./command-completions.ts";
import { flagsWithValue, stepsOf } from "./shell-parts.ts";

/** The completion script for fish 3.0 and later, with descriptions. */
export function fishScript(commands: readonly CompletedCommand[]): string {
  const all = flagsWithValue(commands).map(({ words, flag }) => `${words}|${flag}`);
  const steps = stepsOf(commands).map(({ step }) => step);
  return `# fish completion of memslot, made by: memslot completion fish
function __memslot_command
    set -l words (commandline -opc)
    set -l command ''
    set -l isvalue no
    set -l valued ${all.map(quoted).join(" ")}
    for word in $words[2..-1]
        if test $isvalue = yes
            set isvalue no
        else if test "$word" = --
            break
        else if contains -- "$command|$word" $valued; or contains -- "*|$word" $valued
            set isvalue yes
        else if contains -- "$command|$word" ${steps.map(quoted).join(" ")}
            set command (string trim -- "$command $word")
        end
    end
    echo $command
end
function __memslot_at
    set -l command (__memslot_command)
    test "$command" = "$argv[1]"
end
complete -c memslot -f
${commands.flatMap(linesOf).join("\n")}
`;
}

function linesOf(command: CompletedCommand): string[] {
  const at = `complete -c memslot -n ${quoted(`__memslot_at ${quoted(command.words)}`)}`;
  return [
    ...command.commands.map(({ name, description }) => `${at} -a ${quoted(name)} -d ${quoted(description)}`),
    ...command.options.map((option) => `${at} ${optionOf(option)}`),
    ...(command.commands.length > 0 || command.argument === undefined || command.argument.kind === "text"
      ? []
      : [`${at} ${completing(command.argument)}`]),
  ];
}

function optionOf({ flags, description, value }: CompletedOption): string {
  const names = flags.map((flag) => (flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  const taken = value === undefined ? [] : [value.kind === "files" ? "-r -F" : `-x ${completing(value)}`];
  return [...names, ...taken, `-d ${quoted(description)}`].join(" ").replaceAll("  ", " ");
}

function completing(value: CompletedValue): string {
  if (value.kind === "words") return `-a ${quoted(value.words.join(" "))}`;
  // Without memslot on the PATH, fish would print an error into the command line.
  const agents = "-a '(type -q memslot; and memslot completion --agents 2>/dev/null)'";
  return { text: "", files: "-F", folders: "-a '(__fish_complete_directories)'", agents }[value.kind];
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
