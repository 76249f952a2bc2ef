import type { AgentConfig, AvailabilityProbe, MemoryProviderStatus } from "@memslot/core";
import { type DoctorCheck, failed, passed, warned } from "./doctor-check.ts";
import { describeEndpoint } from "../format/describe-status.ts";

/** Checks of the embedding provider: whether it answers a request, and what to do if not. */
export function checkEmbeddings(
  status: MemoryProviderStatus,
  agent: AgentConfig,
  probe: AvailabilityProbe,
): DoctorCheck[] {
  const checks = [checkProvider(status, agent, probe)];
  const { budget, quarantined = [], circuit, sameVectors } = status.embedding ?? {};
  if (probe.ok && sameVectors !== undefined) checks.push(failed("vectors", sameVectors));
  const { from, to, reason } = status.fallback ?? {};
  if (to !== undefined && to !== status.backend && reason !== undefined)
    checks.push(warned("fallback", `${to} embeds in place of ${from}: ${reason}`, remedy(reason)));
  if (probe.ok && circuit !== undefined)
    checks.push(warned("circuit", `open until ${circuit.nextProbeAt}: ${circuit.reason}`));
  if (budget !== undefined && budget.usedToday >= budget.tokensPerDay)
    checks.push(
      warned(
        "budget",
        `${budget.usedToday} of ${budget.tokensPerDay} tokens used today: no more notes are embedded`,
        "Wait for tomorrow, or raise memorySearch.budget.tokensPerDay.",
      ),
    );
  if (quarantined.length > 0)
    checks.push(
      warned(
        "texts",
        `${quarantined.length} passages rejected by the provider and found by keyword search only; the first: ${quarantined[0]?.path}#L${quarantined[0]?.startLine}`,
        "Edit these lines, or retry them with memslot memory index --force.",
      ),
    );
  return checks;
}

function checkProvider(status: MemoryProviderStatus, agent: AgentConfig, probe: AvailabilityProbe): DoctorCheck {
  const name = [status.provider, status.model].filter(Boolean).join(" ");
  if (probe.ok) {
    const where = describeEndpoint(status);
    const facts = [where && `at ${where}`, probe.latencyMs !== undefined && `${probe.latencyMs} ms`].filter(Boolean);
    return passed("provider", [name, ...facts].join(", "));
  }
  const asked = agent.memorySearch.provider;
  const reason = probe.error ?? status.custom?.providerUnavailableReason ?? "no reason given";
  // `auto` may have found an unusable key or model.
  const { code } = status.embedding ?? {};
  if (status.provider === "none" && ["auto", "none"].includes(asked) && code !== "embedding.failed")
    return code === "embedding.installToo"
      ? warned("provider", `none, keyword search: ${reason}`, remedy(reason))
      : passed("provider", `none, keyword search: ${reason}`);
  return failed("provider", `${asked} does not work: ${reason}`, remedy(reason));
}

const remedies: readonly (readonly [RegExp, string])[] = [
  [/memslot plugins add/, "Run the command above, then memslot doctor again."],
  [/node-llama-cpp/i, "Run memslot embeddings on, which installs what is missing, then memslot doctor again."],
  [
    /quota|credit|billing|\b402\b/i,
    "Add credit at the provider, then run memslot memory index, which retries at once.",
  ],
  [
    /\b401\b|api.?key|\bkey\b/i,
    "Correct the key (memslot config shows where it comes from, memslot memory status which one is used).",
  ],
  [/web page.*browser/, "Log in to the network, or allow the address in the firewall."],
  [/\b403\b/, "Give this key access to the model, or use another key."],
  [/\/v1\b|base ?url|\b404\b|\b405\b/i, "Correct memorySearch.remote.baseUrl or memorySearch.model."],
  [/\b429\b|\brate\b/i, "Wait, or lower memorySearch.remote.nonBatchConcurrency."],
  [
    /ECONNREFUSED|cannot reach|fetch failed|ENOTFOUND|no answer|not answer/i,
    "Start the server, or correct memorySearch.remote.baseUrl.",
  ],
  [/GGUF|model file/i, "Download the model again, or set another one in memorySearch.local.modelPath."],
];

/** The next step for an error message. Hosts and ports in the message are ignored. */
export function remedy(reason: string): string {
  const words = reason.replaceAll(/:\/\/[^/\s]+|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?/g, "://");
  const known = remedies.find(([pattern]) => pattern.test(words));
  return known?.[1] ?? 'Check its key and address, or set memorySearch.provider to "none".';
}
