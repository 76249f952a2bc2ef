import { EmbeddingError, type EmbeddingProvider, messageOf } from "@memslot/core";

/** What has to be known of a provider to check what it gave. */
export type VectorMaker = Pick<EmbeddingProvider, "id" | "dimensions">;

/**
 * A vector as the index keeps it: of length 1. Throws an `EmbeddingError` of kind `transient` for one that is empty, all
 * zero, not finite, or not of the size that the provider states.
 */
export function unitVector(vector: ArrayLike<number>, provider: VectorMaker): Float32Array {
  const { length } = vector;
  const expected = provider.dimensions ?? length;
  if (length !== expected) throw otherSize(provider, length, expected);
  if (length === 0) throw bad(provider, "gave a vector that is empty");
  let largest = 0;
  for (let index = 0; index < length; index++) {
    const value = vector[index];
    if (!Number.isFinite(value)) throw bad(provider, `gave a vector with a number that is not finite: ${value}`);
    largest = Math.max(largest, Math.abs(Number(value)));
  }
  if (largest === 0) throw bad(provider, "gave a vector that is all zero");
  // Divided by the largest number first: the square of a very large or very small one is no number any more.
  // In plain loops: `from` with a function takes twenty times as long, and there are millions of numbers.
  const scaled = new Float64Array(length);
  let sum = 0;
  for (let index = 0; index < length; index++) {
    const value = Number(vector[index]) / largest;
    scaled[index] = value;
    sum += value * value;
  }
  const norm = Math.sqrt(sum);
  const unit = new Float32Array(length);
  for (let index = 0; index < length; index++) unit[index] = (scaled[index] ?? 0) / norm;
  return unit;
}

/** An answer with unusable vectors: `kind` is `input` if others of the same answer are usable, else `transient`. */
export class BadVectors extends EmbeddingError {
  /** The usable vectors, at the places of their texts. */
  readonly vectors: readonly (Float32Array | undefined)[];

  constructor(message: string, vectors: readonly (Float32Array | undefined)[]) {
    super(vectors.some((vector) => vector) ? "input" : "transient", message, { hasCost: true });
    this.vectors = vectors;
  }
}

/**
 * The vectors of an answer, in its order: one for each text, all of one size. Throws `BadVectors` if some are unusable, and
 * an `EmbeddingError` of kind `transient` if it is not clear which text each vector belongs to.
 */
export function unitVectors(
  answer: readonly ArrayLike<number>[],
  texts: number,
  provider: VectorMaker,
): Float32Array[] {
  if (answer.length !== texts)
    throw bad(provider, `gave ${count(answer.length, "vector")} for ${count(texts, "text")}`);
  // The length of most of them, if the provider states none.
  const dimensions = provider.dimensions ?? answer.map(({ length }) => length).toSorted((a, b) => a - b)[texts >> 1];
  const [first] = answer;
  if (first && first.length !== dimensions && answer.every(({ length }) => length === first.length))
    throw otherModel(provider, first.length, dimensions ?? 0);
  const faults: string[] = [];
  const vectors = answer.map((vector) => {
    try {
      return unitVector(vector, { id: provider.id, dimensions });
    } catch (error) {
      faults.push(messageOf(error));
      return undefined;
    }
  });
  if (faults[0] !== undefined) throw new BadVectors(faults[0], vectors);
  return vectors as Float32Array[];
}

/** Not by chance: it is the same with every text. */
function otherModel(provider: VectorMaker, length: number, expected: number): EmbeddingError {
  const { message } = otherSize(provider, length, expected);
  return new EmbeddingError("auth", `${message}; check memorySearch.model and memorySearch.outputDimensionality`);
}

function otherSize(provider: VectorMaker, length: number, expected: number): EmbeddingError {
  return bad(provider, `gave a vector of ${count(length, "number")} where ${expected} were expected`);
}

function bad(provider: VectorMaker, what: string): EmbeddingError {
  return new EmbeddingError("transient", `${provider.id} ${what}`, { hasCost: true });
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
