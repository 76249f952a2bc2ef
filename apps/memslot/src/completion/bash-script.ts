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

/** The completion script for bash 3.2 (macOS) and later. */
export function bashScript(commands: readonly CompletedCommand[]): string {
  const all = flagsWithValue(commands).map(flagPattern);
  return `# bash completion of memslot, made by: memslot completion bash
_memslot() {
  local IFS=$' \\t\\n' cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD - 1]}"
  local at=1 word command='' rest=''
  COMPREPLY=()
  # bash splits --sort=path into three words.
  if [[ $cur == '=' ]]; then
    cur=''
  elif [[ $prev == '=' ]]; then
    prev="\${COMP_WORDS[COMP_CWORD - 2]}"
  fi
  while ((at < COMP_CWORD)); do
    word="\${COMP_WORDS[at]}"
    case "$word" in
      --) rest=yes; break ;;
      =) at=$((at + 1)) ;;
${walkedWords(commands, branch(all, `[[ "\${COMP_WORDS[at + 1]}" == '=' ]] || at=$((at + 1))`))}
    case "$command|$prev" in
${indented(valueBranches(commands, completing), 6)}
    esac
    if [[ $cur == -* ]]; then
      case "$command" in
${indented(
  commands.flatMap((command) =>
    branch([quoted(command.words)], ofWords(command.options.flatMap(({ flags }) => flags))),
  ),
  8,
)}
      esac
      return
    fi
  fi
  case "$command" in
${indented(argumentBranches(commands, { names: (children) => ofWords(children.map(({ name }) => name)), completing }), 4)}
  esac
}
# readline completes and quotes file names if it supports it.
_memslot_files() {
  compopt -o default 2>/dev/null || { local IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$cur")); }
}
_memslot_folders() {
  compopt -o dirnames 2>/dev/null || { local IFS=$'\\n'; COMPREPLY=($(compgen -d -- "$cur")); }
}
# Names contain only letters, digits, _, - and ., so compgen expands nothing.
_memslot_agents() {
  COMPREPLY=($(compgen -W "$(memslot completion --agents 2>/dev/null)" -- "$cur"))
}
complete -F _memslot memslot
`;
}

function ofWords(words: readonly string[]): string {
  return `COMPREPLY=($(compgen -W ${quoted(words.join(" "))} -- "$cur"))`;
}

function completing(value: CompletedValue): string {
  if (value.kind === "words") return ofWords(value.words);
  return value.kind === "text" ? ":" : `_memslot_${value.kind}`;
}
