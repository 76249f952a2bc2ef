/** How vectors are drawn: less the mean, along axes that stand across each other, the one along which they differ most first. */
export interface PlaneAxes {
  mean: Float32Array;
  axes: readonly Float32Array[];
  /** Standard deviation along the first axis. */
  spread: number;
}

/** Of power iteration: a picture needs no more digits. */
const rounds = 15;

/**
 * The directions in which vectors differ most: principal components, by power iteration with the ones before taken out
 * (Hotelling). Vectors have one length, and there is one at least; the same vectors give the same axes.
 */
export function principalAxes(sample: readonly Float32Array[], count = 2): PlaneAxes {
  const dimensions = sample[0]?.length ?? 0;
  const mean = new Float32Array(dimensions);
  for (const vector of sample) for (let at = 0; at < dimensions; at++) add(mean, at, (vector[at] ?? 0) / sample.length);
  const axes: Float32Array[] = [];
  let spread = 0;
  for (let index = 0; index < count; index++) {
    const next = strongest(sample, mean, axes);
    if (index === 0) ({ spread } = next);
    axes.push(next.axis);
  }
  return { mean, axes, spread };
}

/** Where a vector is drawn, -1 to 1: what is far out is drawn nearer to the edge, and never beyond. */
export function placeOf(vector: Float32Array, plane: PlaneAxes): [number, number] {
  const within = (axis: Float32Array | undefined): number =>
    plane.spread === 0 || axis === undefined ? 0 : Math.tanh(along(vector, plane.mean, axis) / (1.2 * plane.spread));
  return [within(plane.axes[0]), within(plane.axes[1])];
}

/** The same along all axes, each a whole number from -127 to 127: four deviations of the first axis are all of it. */
export function coordinatesOf(vector: Float32Array, { mean, axes, spread }: PlaneAxes): number[] {
  return axes.map((axis) => {
    const part = spread === 0 ? 0 : along(vector, mean, axis) / (4 * spread);
    return Math.round(127 * Math.max(-1, Math.min(1, part)));
  });
}

function along(vector: Float32Array, mean: Float32Array, axis: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < mean.length; at++) sum += ((vector[at] ?? 0) - (mean[at] ?? 0)) * (axis[at] ?? 0);
  return sum;
}

function strongest(
  sample: readonly Float32Array[],
  mean: Float32Array,
  without: readonly Float32Array[],
): { axis: Float32Array; spread: number } {
  const dimensions = mean.length;
  // Any direction does to begin with, as long as it is the same each time and stands across none.
  let axis = Float32Array.from({ length: dimensions }, (_, at) => Math.sin(at + 1) + 0.1);
  let spread = 0;
  for (let round = 0; round < rounds; round++) {
    for (const other of without) takeOut(axis, other);
    normalise(axis);
    const next = new Float32Array(dimensions);
    let squares = 0;
    for (const vector of sample) {
      const part = along(vector, mean, axis);
      squares += part * part;
      for (let at = 0; at < dimensions; at++) add(next, at, part * ((vector[at] ?? 0) - (mean[at] ?? 0)));
    }
    spread = Math.sqrt(squares / sample.length);
    if (spread < 1e-9) break;
    axis = next;
  }
  for (const other of without) takeOut(axis, other);
  normalise(axis);
  return { axis, spread };
}

function add(vector: Float32Array, at: number, value: number): void {
  vector[at] = (vector[at] ?? 0) + value;
}

function takeOut(axis: Float32Array, other: Float32Array): void {
  let part = 0;
  for (let at = 0; at < axis.length; at++) part += (axis[at] ?? 0) * (other[at] ?? 0);
  for (let at = 0; at < axis.length; at++) add(axis, at, -part * (other[at] ?? 0));
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

/** Undefined for what is no such text, of vectors of another length, or of another number of axes. */
export function axesIn(text: string, dimensions: number, count = 2): PlaneAxes | undefined {
  try {
    const { spread, parts } = JSON.parse(text) as { spread: unknown; parts: unknown };
    if (typeof spread !== "number" || !Array.isArray(parts)) return undefined;
    const [mean, ...axes] = parts.map((part) => {
      const bytes = new Uint8Array(Buffer.from(String(part), "base64"));
      return new Float32Array(bytes.buffer, 0, Math.floor(bytes.byteLength / 4));
    });
    const fits = axes.length === count && [mean, ...axes].every((part) => part?.length === dimensions);
    return mean === undefined || !fits ? undefined : { mean, axes, spread };
  } catch {
    return undefined;
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
