import type { MemoryProviderStatus } from "@memslot/core";
import { localTime } from "./local-time.ts";
import { counted } from "../open/report-failed-files.ts";

/** The host of the provider and the origin of its key. */
export function describeEndpoint({ embedding }: MemoryProviderStatus): string | undefined {
  if (embedding?.host === undefined) return undefined;
  return embedding.keySource === undefined ? embedding.host : `${embedding.host} (key from ${embedding.keySource})`;
}

export function describeAnsweredBy({ embedding }: MemoryProviderStatus): string | undefined {
  return embedding?.answeredBy && `${embedding.answeredBy.provider} ${embedding.answeredBy.model}`;
}

export function describePending({ embedding }: MemoryProviderStatus): string | undefined {
  return embedding?.pending && `${counted(embedding.pending.chunks, "chunk")}: ${embedding.pending.reason}`;
}

/** Why requests are paused, and until when. */
export function describeCircuit({ embedding }: MemoryProviderStatus): string | undefined {
  if (embedding?.circuit === undefined) return undefined;
  const { kind, reason, nextProbeAt } = embedding.circuit;
  return `open (${kind}), retry at ${localTime(nextProbeAt)}: ${reason}`;
}

export function describeBudget({ embedding }: MemoryProviderStatus): string | undefined {
  const { usedToday, tokensPerDay } = embedding?.budget ?? {};
  return tokensPerDay === undefined ? undefined : `${usedToday} of ${tokensPerDay} tokens used today`;
}

export function describeJobs({ embedding }: MemoryProviderStatus): string | undefined {
  const jobs = (embedding?.jobs ?? []).map(
    ({ id, texts, submittedAt }) => `${id} (${counted(texts, "text")}, since ${localTime(submittedAt)})`,
  );
  return jobs.length === 0 ? undefined : jobs.join(", ");
}

export function describeQuarantined({ embedding }: MemoryProviderStatus): string[] {
  return (embedding?.quarantined ?? []).map(
    ({ path, startLine, endLine, reason }) => `${path}#L${startLine}-L${endLine}: ${reason}`,
  );
}
