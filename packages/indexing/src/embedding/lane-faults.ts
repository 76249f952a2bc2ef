import { EmbeddingError } from "@memslot/core";
import type { VectorSpace } from "../chunk-store.ts";
import { enoughVectors } from "./earlier-lane.ts";
import type { Lane } from "./lane.ts";

/** Too few vectors to search in. */
export class NotFilled extends EmbeddingError {}

/** Whether a search by meaning is worth making. */
export function isFilled(lane: Lane): boolean {
  const stats = lane.stats();
  return (
    stats !== undefined && stats.embedded > 0 && stats.embedded >= enoughVectors * (stats.embedded + stats.pending)
  );
}

/** The failure of a provider whose vectors have another length than before. */
export function otherSize({ provider }: Lane, length: number, space: VectorSpace | undefined): EmbeddingError {
  return new EmbeddingError(
    "transient",
    `${provider.id} gave a vector of ${length} numbers where the stored ones have ${space?.dimensions ?? "none"}: it serves another model under the same name; name the model in memorySearch.model, or run \`memslot memory index --force\` to embed everything with it`,
  );
}
