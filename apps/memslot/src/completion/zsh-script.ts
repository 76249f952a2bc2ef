import type { CompletedCommand, CompletedValue } from "./completed-command.ts";
import { branch, flagPattern, flagsWithValue, indented, quoted, stepBranches, valueBranches } from "./shell-parts.ts";

/** The completion of a program for zsh, with descriptions; to be sourced, or put into a folder of `fpath`. */
export function zshScript(commands: readonly CompletedCommand[]): string {
  const all = flagsWithValue(commands).map(flagPattern);
  return `#compdef memslot
# zsh completion of memslot, made by: memslot completion zsh
_memslot() {
  local cur="\${words[CURRENT]}" prev="\${words[CURRENT - 1]}" word command='' rest=''
  local -i at=2
  local -a items
  while ((at < CURRENT)); do
    word="\${words[at]}"
    case "$word" in
      --) rest=yes; break ;;
      -*)
        case "$command|$word" in
${indented(branch(all, "at=$((at + 1))"), 10)}
        esac ;;
      *)
        case "$command|$word" in
${indented(stepBranches(commands), 10)}
        esac ;;
    esac
    at=$((at + 1))
  done
  if [[ -z $rest ]]; then
    # What stands behind --sort= is completed like the word behind --sort.
    if [[ $cur == --*=* ]]; then
      prev="\${cur%%=*}"
      compset -P '*='
      cur=''
    fi
    case "$command|$prev" in
${indented(valueBranches(commands, completing), 6)}
    esac
    if [[ $cur == -* ]]; then
      case "$command" in
${indented(commands.flatMap(optionBranch), 8)}
      esac
      _describe -o 'option' items
      return
    fi
  fi
  case "$command" in
${indented(commands.flatMap(argumentBranch), 4)}
  esac
}
if [[ \${funcstack[1]} == _memslot ]]; then
  _memslot "$@"
else
  compdef _memslot memslot
fi
`;
}

function items(entries: readonly { name: string; description: string }[]): string {
  return `items=(${entries.map(({ name, description }) => quoted(`${name}:${description}`)).join(" ")})`;
}

function optionBranch({ words, options }: CompletedCommand): string[] {
  const entries = options.flatMap(({ flags, description }) => flags.map((name) => ({ name, description })));
  return branch([quoted(words)], items(entries));
}

function completing(value: CompletedValue): string {
  if (value.kind === "words") return `compadd -- ${value.words.map(quoted).join(" ")}`;
  return { text: ":", files: "_files", folders: "_files -/" }[value.kind];
}

function argumentBranch({ words, commands, argument }: CompletedCommand): string[] {
  if (commands.length > 0) return branch([quoted(words)], `${items(commands)}; _describe 'command' items`);
  return argument === undefined || argument.kind === "text" ? [] : branch([quoted(words)], completing(argument));
}
