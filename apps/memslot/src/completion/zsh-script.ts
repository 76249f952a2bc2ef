import { quoted } from "../terminal/shell-word.ts";
import type { CompletedCommand, CompletedValue } from "./command-completions.ts";
import {
  argumentBranches,
  branch,
  flagPattern,
  flagsWithValue,
  indented,
  valueBranches,
  walkedWords,
} from "./shell-parts.ts";

/** The completion script for zsh with descriptions, for `source` or a folder of `fpath`. */
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
${walkedWords(commands, branch(all, "at=$((at + 1))"))}
    # The text after --sort= is completed like the word after --sort.
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
${indented(argumentBranches(commands, { names: (children) => `${items(children)}; _describe 'command' items`, completing }), 4)}
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
  const agents = 'compadd -- ${(f)"$(memslot completion --agents 2>/dev/null)"}';
  return { text: ":", files: "_files", folders: "_files -/", agents }[value.kind];
}
