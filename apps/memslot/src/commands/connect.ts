import { mkdir } from "node:fs/promises";
import { type ClientId, type MemslotConfig, MemoryError } from "@memslot/core";
import { homeDir } from "@memslot/core/host";
import { type Agent, agentOf, type ConnectScope } from "@memslot/indexing/host";
import type { CommandContext, CommonOptions } from "../command-context.ts";
import { carryOut, takeBack } from "../connect/apply-connection.ts";
import { type AgentPlace, filesOf, foundAgents, hasScope, notesOf } from "../connect/agent-files.ts";
import { connectionFor, keyVariables } from "../connect/connection-commands.ts";
import { type FileChange, type Plan, diffOf, planConnect, planRemove } from "../connect/plan-connection.ts";
import { type ConnectionKey, type Receipts, openReceipts } from "../connect/receipts.ts";
import type { RecallMode } from "../hook/read-event.ts";
import { chooseAgent } from "../open/choose-agents.ts";
import { readConfig } from "../open/read-config.ts";
import { resolvePath } from "../open/find-notes-folder.ts";
import { confirm } from "../terminal/confirm.ts";
import { ExitCode, worseExitCode, UsageError } from "../terminal/exit-code.ts";
import { printable } from "../terminal/output.ts";

export interface ConnectCommandOptions extends CommonOptions {
  user?: boolean;
  project?: boolean;
  readOnly?: boolean;
  hooks?: boolean;
  recall?: RecallMode;
  dryRun?: boolean;
  remove?: boolean;
  yes?: boolean;
}

interface Outcome {
  client: ClientId;
  name: string;
  scope: ConnectScope;
  state: "written" | "unchanged" | "planned" | "declined" | "refused";
  changes: {
    path: string;
    what: FileChange["what"];
    state: "new" | "changed" | "removed" | "unchanged";
    diff: string[];
  }[];
  refused: Plan["refusals"];
  notes: readonly string[];
}

interface Task {
  context: CommandContext;
  options: ConnectCommandOptions;
  config: MemslotConfig;
  place: AgentPlace;
  receipts: Receipts;
}

/** `memslot connect`: writes the memory into the files of an agent, or removes it. */
export async function connect(context: CommandContext, options: ConnectCommandOptions, name?: string): Promise<number> {
  if (options.user === true && options.project === true)
    throw new UsageError("--user and --project exclude each other");
  const config = await readConfig(context);
  const place: AgentPlace = {
    home: homeDir(context.env),
    env: context.env,
    platform: process.platform,
    scope: options.project === true ? "project" : "user",
    cwd: context.cwd,
  };
  const task: Task = { context, options, config, place, receipts: openReceipts(config.stateDir) };
  if (name === undefined) return await connectFound(task);
  const outcome = await connectOne(task, agentOf(name));
  if (options.json === true) context.output.printJson({ ok: outcome.state !== "refused", ...outcome });
  return exitCodeOf(outcome);
}

/** Asks about each agent found. Without a terminal it lists them and writes nothing. */
async function connectFound(task: Task): Promise<number> {
  const { context, options, place, receipts } = task;
  const { output, stdin } = context;
  const found = foundAgents(place).filter((agent) => hasScope(agent, place.scope));
  const isConnected = (client: Agent): boolean => receipts.get(whichOf(client, place)) !== undefined;
  const listed = options.remove === true ? found.filter(isConnected) : found;
  if (options.json === true) {
    output.printJson({
      clients: listed.map((client) => ({ client: client.id, name: client.name, connected: isConnected(client) })),
    });
    return ExitCode.ok;
  }
  if (listed.length === 0) {
    output.print(
      options.remove === true
        ? "Nothing is connected."
        : "No agent was found. Name one: memslot connect --help lists them.",
    );
    return ExitCode.ok;
  }
  const canAsk = stdin.isTTY === true && options.yes !== true;
  if (!canAsk) {
    for (const client of listed)
      output.print(`${client.id}: ${client.name}${isConnected(client) ? ", connected" : ""}`);
    output.print(`\nName one: memslot connect ${listed[0]?.id ?? ""}${options.remove === true ? " --remove" : ""}`);
    return ExitCode.ok;
  }
  let exitCode: number = ExitCode.ok;
  for (const client of listed) {
    const question = options.remove === true ? `Take memory out of ${client.name}?` : `Connect ${client.name}?`;
    if (await confirm(context, question))
      exitCode = worseExitCode(exitCode, exitCodeOf(await connectOne(task, client)));
  }
  return exitCode;
}

async function connectOne(task: Task, client: Agent): Promise<Outcome> {
  const { context, options, config, place, receipts } = task;
  if (!hasScope(client, place.scope))
    throw new UsageError(`${client.name} keeps no settings for a project: leave --project out`);
  const which = whichOf(client, place);
  const agent = chooseAgent(config, options.agent);
  const connection = connectionFor(client, {
    agent,
    namesAgent: options.agent !== undefined,
    configFile: configFileOf(context),
    stateDir: context.env["MEMSLOT_HOME"]?.trim() ? config.stateDir : undefined,
    readOnly: options.readOnly === true,
    keys: keyVariables(agent, context.env),
    // Hooks are removed with the rest.
    hooks: options.hooks !== false || options.remove === true,
    recall: options.recall ?? "strong",
  });
  const makePlan = async (): Promise<Plan> => {
    const earlier = receipts.get(which);
    return options.remove === true
      ? await planRemove(filesOf(client, place, connection), receipts, earlier)
      : await planConnect(client, place, connection, receipts, earlier);
  };
  const plan = await makePlan();
  const shown = describe(client, place, plan);
  if (options.json !== true) print(context, shown);
  const finish = (state: Outcome["state"]): Outcome => ({
    ...shown,
    state,
    notes: state === "written" && options.remove !== true ? notesOf(client, place, connection) : [],
  });
  if (plan.refusals.length > 0) {
    context.output.notice(`${client.name}: nothing was written`);
    return finish("refused");
  }
  const isChanged = plan.changes.some(({ file, after }) => file.text !== after);
  if (!isChanged && (receipts.get(which) !== undefined) === (options.remove !== true)) {
    if (options.json !== true) context.output.print(`${client.name}: nothing to do.`);
    return finish("unchanged");
  }
  if (options.dryRun === true) return finish("planned");
  if (
    isChanged &&
    context.stdin.isTTY === true &&
    options.yes !== true &&
    options.json !== true &&
    !(await confirm(context, "Write this?"))
  ) {
    context.output.print("Nothing was written.");
    return finish("declined");
  }
  await receipts.alone(context.signal, async () => {
    const { changes } = await asShown(plan, makePlan);
    if (options.remove === true) {
      for (const backup of await takeBack(changes, which, receipts))
        context.output.notice(
          `There was no record of this connection: a backup of the file is in ${printable(backup)}`,
        );
      return;
    }
    await makeWorkspace(agent.workspaceDir);
    const { server, keys, hook } = connection;
    const at = new Date().toISOString();
    await carryOut(changes, { ...which, at, server, keys, ...(hook !== undefined && { hook }) }, receipts);
  });
  const done = finish(isChanged ? "written" : "unchanged");
  if (options.json !== true) {
    context.output.print(
      options.remove === true
        ? `${client.name}: removed.`
        : `${client.name}: connected to ${printable(agent.workspaceDir)}`,
    );
    for (const note of done.notes) context.output.print(`  ${note}`);
    if (options.remove !== true && place.scope === "project")
      context.output.print("  These files contain paths of this machine: keep them out of version control.");
    if (options.remove !== true) context.output.print("  Next: memslot doctor starts it once.");
  }
  return done;
}

/** Plans again: writes what was displayed, or nothing. */
async function asShown(shown: Plan, makePlan: () => Promise<Plan>): Promise<Plan> {
  const now = await makePlan();
  const textsOf = ({ changes, refusals }: Plan): string =>
    JSON.stringify([changes.map(({ file, after }) => [file.target, file.text, after]), refusals]);
  if (textsOf(now) === textsOf(shown)) return now;
  const names = now.changes.map(({ path }) => printable(path)).join(", ");
  throw new MemoryError("BUSY", `${names} changed in the meantime; run the command again`);
}

/** Without notes, a client finds an empty memory, not a failure. */
async function makeWorkspace(workspaceDir: string): Promise<void> {
  await mkdir(workspaceDir, { recursive: true, mode: 0o700 });
}

function whichOf(client: Agent, { scope, cwd: projectDir }: AgentPlace): ConnectionKey {
  return { client: client.id as ClientId, scope, ...(scope === "project" && { projectDir }) };
}

/** The file named for this run: a client's process has neither this option nor this environment. */
function configFileOf({ configPath, env, cwd }: CommandContext): string | undefined {
  const named = configPath ?? (env["MEMSLOT_CONFIG"]?.trim() ? env["MEMSLOT_CONFIG"] : undefined);
  return named === undefined ? undefined : resolvePath(named, cwd, env);
}

function describe(client: Agent, { scope }: AgentPlace, { changes, refusals }: Plan): Omit<Outcome, "state" | "notes"> {
  return {
    client: client.id as ClientId,
    name: client.name,
    scope,
    changes: changes.map((change) => ({
      path: change.path,
      what: change.what,
      state: stateOf(change),
      diff: diffOf(change),
    })),
    refused: refusals,
  };
}

function stateOf({ file, after }: FileChange): "new" | "changed" | "removed" | "unchanged" {
  if (file.text === after) return "unchanged";
  if (file.text === undefined) return "new";
  return after === undefined ? "removed" : "changed";
}

function print({ output }: CommandContext, { changes, refused }: Omit<Outcome, "state" | "notes">): void {
  for (const { path, what, state, diff } of changes) {
    if (state === "unchanged") continue;
    output.print(output.style("bold", `${path} (${what}, ${state})`));
    for (const line of diff)
      output.print(
        line.startsWith("+") ? output.style("green", line) : line.startsWith("-") ? output.style("red", line) : line,
      );
  }
  for (const { path, reason, line } of refused)
    output.notice(`${path}${line === undefined ? "" : `:${line}`} is left unchanged: ${reason}`);
}

function exitCodeOf({ state }: Outcome): number {
  return state === "refused" ? ExitCode.error : ExitCode.ok;
}
