import { agentsWithState } from "@memslot/core/host";
import type { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { bashScript } from "../completion/bash-script.ts";
import { completedCommands } from "../completion/command-completions.ts";
import { fishScript } from "../completion/fish-script.ts";
import { zshScript } from "../completion/zsh-script.ts";
import { readConfig } from "../open/read-config.ts";
import { ExitCode } from "../terminal/exit-code.ts";

type Shell = "bash" | "zsh" | "fish";

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };

const howToInstall = `Prints a shell completion script for commands, options and their values. Install it once, and again
after an update:

bash  mkdir -p ~/.local/share/bash-completion/completions
      memslot completion bash > ~/.local/share/bash-completion/completions/memslot
      or, without the package bash-completion, in ~/.bashrc: source <(memslot completion bash)
zsh   memslot completion zsh > "\${fpath[1]}/_memslot"
fish  memslot completion fish > ~/.config/fish/completions/memslot.fish

Then open a new shell.`;

/** `memslot completion`: the script of a shell, made from the commands of the program. */
export function completionOf(program: Command) {
  return async (context: CommandContext, options: { agents?: boolean }, shell?: Shell): Promise<number> => {
    if (options.agents === true) return completedAgents(context);
    if (shell === undefined) context.output.print(howToInstall);
    else context.output.write(scripts[shell](completedCommands(program)));
    return ExitCode.ok;
  };
}

/** Ids that need no quoting in a shell. */
const plainId = /^[\w.-]+$/u;

/** `memslot completion --agents`: the values of `--agent`, one a line, for completion scripts. */
async function completedAgents(context: CommandContext): Promise<number> {
  // Notices about the configuration must not appear in the command line that the user is typing.
  const quiet = { ...context, output: { ...context.output, notice: () => undefined } };
  const config = await readConfig(quiet, { lookAround: true });
  const ids = [...config.agents.map(({ id }) => id), ...agentsWithState(config.stateDir)];
  for (const id of new Set(ids)) if (plainId.test(id)) context.output.print(id);
  return ExitCode.ok;
}
