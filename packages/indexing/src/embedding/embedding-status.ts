import type { EmbeddingChoice, EmbeddingProvider, EmbeddingStatus } from "@memslot/core";
import type { QuarantinedChunk } from "../chunk-index.ts";
import type { Lane } from "./lane.ts";

/** What a status says of the provider and of what it refused. `other`: the one whose vectors answer in its place. */
export function embeddingStatus(
  { reason, passedOver }: EmbeddingChoice,
  { provider, activity }: Pick<Lane, "provider" | "activity">,
  other: EmbeddingProvider | undefined,
  quarantined: readonly QuarantinedChunk[],
): EmbeddingStatus {
  return {
    reason,
    passedOver,
    host: provider.endpoint?.host,
    keySource: provider.endpoint?.keySource,
    activity: activity(),
    answeredBy: other && { provider: other.id, model: other.model },
    quarantined: quarantined.map(({ path, startLine, endLine, reason: why }) => {
      return { path, startLine, endLine, reason: why };
    }),
  };
}
