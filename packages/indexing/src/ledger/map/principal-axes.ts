/** How vectors are drawn on a plane: less the mean, along two axes. */
export interface PlaneAxes {
  mean: Float32Array;
  axes: readonly [Float32Array, Float32Array];
  /** Standard deviation along the first axis. */
  spread: number;
}

/** Of power iteration: a picture needs no more digits. */
const rounds = 15;

/**
 * The two directions in which vectors differ most: principal components, by power iteration with the first one taken
 * out for the second (Hotelling). Vectors have one length, and there is one at least; the same vectors give the same axes.
 */
export function principalAxes(sample: readonly Float32Array[]): PlaneAxes {
  const dimensions = sample[0]?.length ?? 0;
  const mean = new Float32Array(dimensions);
  for (const vector of sample) for (let at = 0; at < dimensions; at++) add(mean, at, (vector[at] ?? 0) / sample.length);
  const first = strongest(sample, mean, undefined);
  const second = strongest(sample, mean, first.axis);
  return { mean, axes: [first.axis, second.axis], spread: first.spread };
}

/** Where a vector is drawn, -1 to 1: what is far out is drawn nearer to the edge, and never beyond. */
export function placeOf(vector: Float32Array, { mean, axes: [first, second], spread }: PlaneAxes): [number, number] {
  let [x, y] = [0, 0];
  for (let at = 0; at < mean.length; at++) {
    const own = (vector[at] ?? 0) - (mean[at] ?? 0);
    x += own * (first[at] ?? 0);
    y += own * (second[at] ?? 0);
  }
  const within = (value: number): number => (spread === 0 ? 0 : Math.tanh(value / (1.2 * spread)));
  return [within(x), within(y)];
}

function strongest(
  sample: readonly Float32Array[],
  mean: Float32Array,
  without: Float32Array | undefined,
): { axis: Float32Array; spread: number } {
  const dimensions = mean.length;
  // Any direction does to begin with, as long as it is the same each time and stands across none.
  let axis = Float32Array.from({ length: dimensions }, (_, at) => Math.sin(at + 1) + 0.1);
  let spread = 0;
  for (let round = 0; round < rounds; round++) {
    if (without !== undefined) takeOut(axis, without);
    normalise(axis);
    const next = new Float32Array(dimensions);
    let squares = 0;
    for (const vector of sample) {
      let along = 0;
      for (let at = 0; at < dimensions; at++) along += ((vector[at] ?? 0) - (mean[at] ?? 0)) * (axis[at] ?? 0);
      squares += along * along;
      for (let at = 0; at < dimensions; at++) add(next, at, along * ((vector[at] ?? 0) - (mean[at] ?? 0)));
    }
    spread = Math.sqrt(squares / sample.length);
    if (spread < 1e-9) break;
    axis = next;
  }
  if (without !== undefined) takeOut(axis, without);
  normalise(axis);
  return { axis, spread };
}

function add(vector: Float32Array, at: number, value: number): void {
  vector[at] = (vector[at] ?? 0) + value;
}

function takeOut(axis: Float32Array, other: Float32Array): void {
  let along = 0;
  for (let at = 0; at < axis.length; at++) along += (axis[at] ?? 0) * (other[at] ?? 0);
  for (let at = 0; at < axis.length; at++) add(axis, at, -along * (other[at] ?? 0));
}

function normalise(axis: Float32Array): void {
  const length = Math.hypot(...axis);
  if (length < 1e-12) axis.fill(0);
  else for (let at = 0; at < axis.length; at++) axis[at] = (axis[at] ?? 0) / length;
}

/** As a text, to be kept. */
export function axesText({ mean, axes, spread }: PlaneAxes): string {
  return JSON.stringify({ spread, parts: [mean, ...axes].map((part) => bytesOf(part).toString("base64")) });
}

/** Undefined for what is no such text, or of vectors of another length. */
export function axesIn(text: string, dimensions: number): PlaneAxes | undefined {
  try {
    const { spread, parts } = JSON.parse(text) as { spread: unknown; parts: unknown };
    if (typeof spread !== "number" || !Array.isArray(parts)) return undefined;
    const [mean, first, second] = parts.map((part) => {
      const bytes = new Uint8Array(Buffer.from(String(part), "base64"));
      return new Float32Array(bytes.buffer, 0, Math.floor(bytes.byteLength / 4));
    });
    if (mean?.length !== dimensions || first?.length !== dimensions || second?.length !== dimensions) return undefined;
    return { mean, axes: [first, second], spread };
  } catch {
    return undefined;
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
