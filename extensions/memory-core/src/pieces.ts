/** Long work, cut into pieces between which the worker answers other calls. Each piece leaves the database whole. */
export type Pieces<Result> = AsyncGenerator<void, Result, void>;

export function isPieces(value: unknown): value is Pieces<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value && "next" in value;
}

/** Does all of it at once. */
export async function finish<Result>(pieces: Pieces<Result>): Promise<Result> {
  for (;;) {
    const { done, value } = await pieces.next();
    if (done === true) return value;
  }
}
