/** Long work, cut into pieces between which the worker answers other calls. Each piece leaves the database whole. */
export type Pieces<Result> = AsyncGenerator<void, Result, void>;

export function isPieces(value: unknown): value is Pieces<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value && "next" in value;
}
