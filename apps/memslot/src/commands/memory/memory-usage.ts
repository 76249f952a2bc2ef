import { readUsage, type UsageEntry } from "@memslot/indexing";
import { chooseAgent } from "../../open/choose-agents.ts";
import type { CommandContext, CommonOptions } from "../../command-context.ts";
import { ExitCode } from "../../terminal/exit-code.ts";
import { readConfig } from "../../open/read-config.ts";
import { table } from "../../format/units.ts";

export interface MemoryUsageCommandOptions extends CommonOptions {
  days?: number;
}

export async function memoryUsage(context: CommandContext, options: MemoryUsageCommandOptions): Promise<number> {
  const config = await readConfig(context, { lookAround: true });
  const { stateDir } = config;
  const { agent: agentId, days = 30 } = options;
  if (agentId !== undefined) chooseAgent(config, agentId);
  const entries = await readUsage(stateDir, { days, ...(agentId === undefined ? {} : { agentId }) });
  if (options.json === true) context.output.printJson(entries);
  else context.output.print(entries.length === 0 ? nothing(days, agentId) : formatUsage(entries));
  return ExitCode.ok;
}

function nothing(days: number, agentId: string | undefined): string {
  const whose = agentId === undefined ? "" : ` for agent ${agentId}`;
  return `No embedding requests${whose} in the last ${days} days.`;
}

function formatUsage(entries: readonly UsageEntry[]): string {
  const rows = entries.map(({ day, agentId, reason, provider, model, requests, tokens }) => [
    day,
    agentId,
    reason,
    `${provider} ${model}`,
    requests.toString(),
    tokens.toString(),
  ]);
  const sum = (of: (entry: UsageEntry) => number): string =>
    entries.reduce((total, entry) => total + of(entry), 0).toString();
  return table(
    ["Day", "Agent", "Reason", "Provider", "Requests", "Tokens"],
    [...rows, ["Total", "", "", "", sum(({ requests }) => requests), sum(({ tokens }) => tokens)]],
    { right: [4, 5] },
  );
}
