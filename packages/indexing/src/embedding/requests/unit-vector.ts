import { ProviderError, type EmbeddingProvider, messageOf } from "@memslot/core";

export type VectorMaker = Pick<EmbeddingProvider, "id" | "dimensions">;

/** Scales a vector to length 1. Throws a `transient` `ProviderError` if it is unusable. */
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
  // Divided by the largest number first: squares may overflow. Plain loops are twenty times as fast as `from`.
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

/** Unusable vectors in an answer: of kind `input` if others are usable, else `transient`. */
export class BadVectors extends ProviderError {
  readonly vectors: readonly (Float32Array | undefined)[];

  constructor(message: string, vectors: readonly (Float32Array | undefined)[]) {
    super(vectors.some((vector) => vector) ? "input" : "transient", message, { hasCost: true });
    this.vectors = vectors;
  }
}

/** Checks and scales vectors. Throws `BadVectors`, or `ProviderError` for a wrong number. */
export function unitVectors(
  answer: readonly ArrayLike<number>[],
  texts: number,
  provider: VectorMaker,
): Float32Array[] {
  if (answer.length !== texts)
    throw bad(provider, `gave ${count(answer.length, "vector")} for ${count(texts, "text")}`);
  // If the provider states no size: that of most vectors.
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

function otherModel(provider: VectorMaker, length: number, expected: number): ProviderError {
  const { message } = otherSize(provider, length, expected);
  return new ProviderError("auth", `${message}; check memorySearch.model and memorySearch.outputDimensionality`);
}

function otherSize(provider: VectorMaker, length: number, expected: number): ProviderError {
  return bad(provider, `gave a vector of ${count(length, "number")} where ${expected} were expected`);
}

function bad(provider: VectorMaker, what: string): ProviderError {
  return new ProviderError("transient", `${provider.id} ${what}`, { hasCost: true });
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
