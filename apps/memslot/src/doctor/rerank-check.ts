import type { MemoryProviderStatus } from "@memslot/core";
import { describeReranker } from "../format/format-rerank.ts";
import { type DoctorCheck, failed, passed } from "./doctor-check.ts";

/** What `memslot doctor` says of the reranker, where one is asked for. The live search shows whether it answers. */
export function checkReranker(status: MemoryProviderStatus): DoctorCheck[] {
  const { rerank } = status;
  if (rerank === undefined) return [];
  if (rerank.id !== undefined) return [passed("reranker", describeReranker(status) ?? rerank.id)];
  const next = 'Correct memorySearch.query.rerank, or set memorySearch.query.rerank.provider to "none".';
  return [failed("reranker", `${rerank.requested} does not work: ${rerank.reason}`, next)];
}
