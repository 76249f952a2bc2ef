import type { AgentConfig, MemslotConfig, SyncEstimate } from "@memslot/core";
import { chooseAgents, disabledReason } from "../../open/choose-agents.ts";
import type { CommandContext, CommonOptions } from "../../command-context.ts";
import { ExitCode } from "../../terminal/exit-code.ts";
import { readConfig } from "../../open/read-config.ts";
import { withMemory } from "../../open/with-memory.ts";
import { printable } from "../../terminal/output.ts";
import { counted } from "../../open/scan-summary.ts";

export async function memoryEstimate(context: CommandContext, options: CommonOptions): Promise<number> {
  const config = await readConfig(context, { lookAround: true });
  const agents = chooseAgents(config, options.agent);
  const entries: object[] = [];
  const blocks: string[] = [];
  for (const agent of agents) {
    const answer = await estimateOf(context, config, agent);
    entries.push({ agentId: agent.id, ...("estimate" in answer ? answer.estimate : { disabled: answer.none }) });
    const text = "estimate" in answer ? formatEstimate(answer.estimate) : answer.none;
    blocks.push(agents.length > 1 ? `${agent.id}: ${text}` : text);
  }
  if (options.json === true) context.output.printJson(entries);
  else context.output.print(blocks.join("\n\n"));
  return ExitCode.ok;
}

async function estimateOf(
  context: CommandContext,
  config: MemslotConfig,
  agent: AgentConfig,
): Promise<{ estimate: SyncEstimate } | { none: string }> {
  const disabled = disabledReason(config, agent);
  if (disabled !== undefined) return { none: `Memory is disabled: ${disabled}.` };
  const { signal } = context;
  const estimate = await withMemory(context, config, agent, (memory) => memory.estimate({ signal }), {
    readOnly: true,
  });
  return estimate === undefined ? { none: "This backend cannot estimate the cost of indexing." } : { estimate };
}

function formatEstimate(estimate: SyncEstimate): string {
  const {
    files,
    changedFiles,
    chunks,
    cachedTexts,
    pendingTexts,
    measuringTexts = 0,
    tokens,
    requests,
    provider,
    model,
    reason,
  } = estimate;
  const lines = [`${counted(files, "file")} (${changedFiles} to index) · ${counted(chunks, "chunk")}`];
  if (provider === "none") lines.push(`Nothing would be sent: ${reason ?? "no embedding provider"}`);
  else {
    lines.push(`Provider: ${printable([provider, model].filter(Boolean).join(" "))}`);
    lines.push(`${counted(cachedTexts, "text")} already embedded, ${counted(pendingTexts, "text")} to send`);
    if (measuringTexts > 0)
      lines.push(`${counted(measuringTexts, "short text")} more, to calibrate the semantic weight`);
    if (pendingTexts > 0) lines.push(`About ${tokens} tokens in ${counted(requests, "request")}`);
    lines.push(describePrice(estimate));
  }
  return [...lines, "Nothing was changed or sent."].join("\n");
}

function describePrice({ price }: SyncEstimate): string {
  if (price === undefined) return "Price: unknown for this model";
  const { usd, usdPerMillionTokens, batchUsdPerMillionTokens, asOf, source } = price;
  if (usdPerMillionTokens === 0) return `Price: free (${source})`;
  const batch =
    batchUsdPerMillionTokens === undefined
      ? ""
      : `, ${dollars((usd * batchUsdPerMillionTokens) / usdPerMillionTokens)} with remote.batch.enabled`;
  return `Price: about ${dollars(usd)}${batch} (${usdPerMillionTokens} USD per million tokens on ${asOf}, ${source})`;
}

function dollars(usd: number): string {
  return usd > 0 && usd < 0.01 ? "less than 0.01 USD" : `${usd.toFixed(2)} USD`;
}
