/** A vector in whole numbers of one byte each. */
export interface Int8Vector {
  bytes: Buffer;
  /** How far the rounding has turned the vector, in radians. */
  angle: number;
}

const largest = 127;

/** Scales a vector so that its own largest number takes the whole range, and rounds. Its direction is what counts. */
export function toInt8(vector: Float32Array): Int8Vector {
  let peak = 0;
  let length = 0;
  for (let index = 0; index < vector.length; index++) {
    const value = vector[index] as number;
    peak = Math.max(peak, Math.abs(value));
    length += value * value;
  }
  const scale = largest / peak;
  const whole = new Int8Array(vector.length);
  let dot = 0;
  let squares = 0;
  for (let index = 0; index < vector.length; index++) {
    const value = vector[index] as number;
    // Faster than Math.round, which matters with every vector of an index.
    const rounded = Math.trunc(value * scale + (value < 0 ? -0.5 : 0.5));
    whole[index] = rounded;
    dot += value * rounded;
    squares += rounded * rounded;
  }
  const cosine = dot / Math.sqrt(length * squares);
  return { bytes: Buffer.from(whole.buffer), angle: Math.acos(Math.min(1, cosine)) };
}

/**
 * The highest cosine that two vectors can have whose rounded forms have the cosine `rounded`: angles add up at most.
 * `rounded` was counted in single precision, which loses a little with each of the `dimensions`.
 */
export function highestCosine(rounded: number, angles: number, dimensions: number): number {
  const counted = Math.min(1, rounded + dimensions * 2 ** -22);
  return Math.cos(Math.max(0, Math.acos(counted) - angles));
}
