import { isAbort, visibleMessage } from "@memslot/core";
import { Command, CommanderError, Option } from "commander";
import type { CommandContext } from "./command-context.ts";
import { type Action, actions } from "./program/command-loaders.ts";
import { addCommands, examples } from "./program/add-commands.ts";
import { ExitCode, exitCodeOf, failureJson, reportFailure } from "./terminal/exit-code.ts";
import { type ColorChoice, colorChoices } from "./terminal/ansi/terminal-kind.ts";
import { packageVersion } from "./package-version.ts";

/** The environment of one run; `runProgram` adds the shared options. */
export type ProgramWorld = Omit<CommandContext, "configPath" | "workspace" | "onAgent">;

/** Runs one command line and returns its exit code. Never throws, never ends the process. */
export async function runProgram(argv: readonly string[], world: ProgramWorld): Promise<number> {
  let exitCode: number = ExitCode.ok;
  const program = describeProgram(world, (code) => {
    exitCode = code;
  });
  try {
    if (argv.length === 0) program.outputHelp();
    else await program.parseAsync(argv[0] === "-V" ? ["--version"] : argv, { from: "user" });
  } catch (error) {
    if (error instanceof UnknownCommand) {
      world.output.notice(`unknown command '${error.message}'; ${await hintFor(error)}`);
      return ExitCode.usage;
    }
    if (!(error instanceof CommanderError)) {
      reportFailure(world.output, error);
      return ExitCode.error;
    }
    // For an agent, exit code 2 of a hook means that the prompt is to be discarded.
    return error.exitCode === 0 || argv[0] === "hook" ? ExitCode.ok : ExitCode.usage;
  }
  return exitCode;
}

interface SharedOptions {
  json?: boolean;
  agent?: string;
  config?: string;
  workspace?: string;
  color?: ColorChoice;
}

function describeProgram(world: ProgramWorld, setExitCode: (code: number) => void): Command {
  const program = new Command("memslot");
  describeRoot(program, world);
  addCommands(program, (name) => run(world, setExitCode, async () => await actions[name]?.(program)));
  for (const parent of [program, ...program.commands.filter(({ commands }) => commands.length > 0)])
    refuseUnknown(parent, program);
  return program;
}

/** Runs a command, and converts errors to messages and an exit code. */
function run(world: ProgramWorld, setExitCode: (code: number) => void, load: () => Promise<Action | undefined>) {
  return async (...given: unknown[]): Promise<void> => {
    const command = given.at(-1) as Command;
    const shared = command.optsWithGlobals<SharedOptions>();
    if (shared.color !== undefined) world.output.setColor(shared.color);
    let agentId = command.parent?.name() === "memory" ? (shared.agent ?? "main") : undefined;
    const context: CommandContext = {
      ...world,
      configPath: shared.config,
      workspace: shared.workspace,
      onAgent: (id) => {
        agentId = id;
      },
    };
    try {
      const action = await load();
      setExitCode((await action?.(context, command.opts() as never, ...(command.args as never[]))) ?? ExitCode.error);
    } catch (error) {
      if (isAbort(error)) world.output.notice("interrupted");
      else if (shared.json === true) world.output.printJson(failureJson(error, agentId));
      else reportFailure(world.output, error);
      setExitCode(exitCodeOf(error));
    }
  };
}

function describeRoot(program: Command, world: ProgramWorld): void {
  program
    .description("Long-term memory in Markdown files: search a folder of notes and get cited lines back.")
    .version(packageVersion(), "-v, --version", "print the version")
    .helpOption("-h, --help", "print help")
    .option(
      "--workspace <dir>",
      "folder of notes (default: from the configuration, else the folder of notes that contains the current folder)",
    )
    .option(
      "--config <file>",
      "configuration file (default: MEMSLOT_CONFIG, ./memslot.json5, ~/.memslot/memslot.json5)",
    )
    .addOption(new Option("--color <when>", "colours (default: if stdout is a terminal)").choices(colorChoices))
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => world.output.write(visibleMessage(text)),
      writeErr: (text) => void world.output.stderr.write(visibleMessage(text)),
      outputError: (text, write) => write(text.replace(/^error: /u, "memslot: ")),
    })
    .exitOverride()
    .addHelpText(
      "after",
      `${examples(['memslot memory search "what did we decide about backups" --workspace ~/notes', "memslot init"])}

Exit codes:
  0  success, including a search without results
  1  error
  2  wrong usage
  3  incomplete: some files failed, or the embedding provider has to be tried again
  4  another process is writing to the index

MEMSLOT_DEBUG=search,sync writes one line to stderr for each search and sync. Other topics: embedding, store,
provider; * selects all.`,
    );
}

class UnknownCommand extends Error {
  readonly known: readonly string[];

  constructor(typed: string, known: readonly string[]) {
    super(typed);
    this.known = known;
  }
}

function refuseUnknown(parent: Command, program: Command): void {
  // Of two equally near commands, prefer the parent's own.
  const commands = program.commands.toSorted((a, b) => Number(b === parent) - Number(a === parent));
  const known = commands.flatMap((command) => [
    command.name(),
    ...command.commands.map((child) => `${command.name()} ${child.name()}`),
  ]);
  parent.on("command:*", ([typed = ""]: string[]) => {
    throw new UnknownCommand(typed, known);
  });
}

/** The command whose last word is nearest, or begins so. Loaded late: `--help` and `--version` end without it. */
async function hintFor({ message: typed, known }: UnknownCommand): Promise<string> {
  const { nearestWord } = await import("@memslot/core/host");
  const lastWord = (command: string): string => command.split(" ").at(-1) ?? command;
  const words = known.map(lastWord);
  const begun = typed.length < 2 ? undefined : words.find((word) => word.startsWith(typed.toLowerCase()));
  const nearest = nearestWord(typed, words) ?? begun;
  const command = known.find((each) => lastWord(each) === nearest);
  return command === undefined ? "see memslot --help" : `did you mean memslot ${command}?`;
}
