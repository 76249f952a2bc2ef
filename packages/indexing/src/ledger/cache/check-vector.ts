import type { VectorSpace } from "../../chunk-store.ts";
import { lengthOf } from "./stored-vector.ts";
import { StoreFailure } from "../thread/store-failure.ts";

/** Throws `INVALID_ARGUMENT` for a vector that is not of this space, or that cannot be compared with any. */
export function checkVector(vector: Float32Array, space: VectorSpace): void {
  if (vector.length !== space.dimensions) {
    throw new StoreFailure(
      "INVALID_ARGUMENT",
      `a vector has ${vector.length} numbers, the space ${space.provider}/${space.model} has ${space.dimensions}`,
    );
  }
  const length = lengthOf(vector);
  if (length === 0 || !Number.isFinite(length)) {
    throw new StoreFailure(
      "INVALID_ARGUMENT",
      `a vector of ${space.provider}/${space.model} is all zero or not finite`,
    );
  }
}
