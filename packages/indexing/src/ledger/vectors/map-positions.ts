import type Database from "better-sqlite3";
import type { MapAsked, MappedPassages } from "../ledger.ts";
import { toVector } from "./vector-cache.ts";
import type { Pieces } from "../thread/remote-calls.ts";
import { scanTerms } from "../../text/index-terms.ts";
import { jsonOf } from "../../json-values.ts";

const mostPoints = 50_000;
const sampled = 1_500;
const page = 1_000;

interface PassageRow {
  file: number;
  startLine: number;
  endLine: number;
  /** Source of its position: a vector, or the chunk itself. */
  made: number;
}

export function createMapPassages(
  db: Database.Database,
): (generation: number, spaceId: number | undefined, asked: MapAsked) => Pieces<MappedPassages> {
  const files = db.prepare<[number], MappedPassages["files"][number] & { id: number; chunks: number }>(
    "SELECT id, path, source, mtime AS mtimeMs, chunks FROM files WHERE generation = ?",
  );
  const columns = "c.file_id AS file, c.start_line AS startLine, c.end_line AS endLine";
  const byMeaning = db.prepare<[Record<string, number>], PassageRow>(`
    SELECT ${columns}, e.vector_id AS made FROM files f JOIN chunks c ON c.file_id = f.id
    JOIN embedding_cache e ON e.hash = c.hash AND e.space_id = :spaceId WHERE f.generation = :generation ORDER BY f.path, f.source, c.start_line, c.id
  `);
  const byWords = db.prepare<[Record<string, number>], PassageRow>(`
    SELECT ${columns}, c.id AS made FROM files f JOIN chunks c ON c.file_id = f.id
    WHERE f.generation = :generation ORDER BY f.path, f.source, c.start_line, c.id
  `);
  const embedding = db.prepare<[number], Buffer>("SELECT embedding FROM vectors WHERE id = ?").pluck();
  const words = db.prepare<[number], { context: string; text: string }>(
    "SELECT context, text FROM chunks WHERE id = ?",
  );

  return async function* mapPassages(generation, spaceId, { axes: kept, dimensions: wanted = 2 }) {
    const known = files.all(generation).map(({ chunks, ...file }) => ({ chunks, file }));
    const passages = known.reduce((sum, { chunks }) => sum + chunks, 0);
    const indexOf = new Map(known.map(({ file: { id } }, index) => [id, index]));
    const all = spaceId === undefined ? byWords.all({ generation }) : byMeaning.all({ generation, spaceId });
    const rows = spread(all, mostPoints);
    yield;

    /** Undefined if it was removed meanwhile. */
    const vectorOf = ({ made }: PassageRow): Float32Array | undefined => {
      if (spaceId === undefined) {
        const chunk = words.get(made);
        return chunk && wordVector(`${chunk.context}\n${chunk.text}`);
      }
      const bytes = embedding.get(made);
      return bytes && toVector(bytes);
    };
    const places = { axes: undefined, fine: undefined };
    const map: MappedPassages = { passages, files: [], file: [], startLine: [], endLine: [], x: [], y: [], ...places };
    const [first] = rows;
    const dimensions = (first && vectorOf(first)?.length) ?? 0;
    let axes: PlaneAxes | undefined = kept === undefined ? undefined : axesIn(kept, dimensions, wanted);
    if (axes === undefined) {
      const sample = spread(rows, sampled).flatMap((row) => vectorOf(row) ?? []);
      yield;
      if (sample.length === 0) return map;
      axes = principalAxes(sample, wanted);
      yield;
    }

    const fine: number[] = [];
    for (const [at, row] of rows.entries()) {
      if (at % page === page - 1) yield;
      const [vector, file] = [vectorOf(row), indexOf.get(row.file)];
      if (vector === undefined || file === undefined) continue;
      const [x, y] = placeOf(vector, axes);
      if (wanted > 2) fine.push(...coordinatesOf(vector, axes));
      map.file.push(file);
      map.startLine.push(row.startLine);
      map.endLine.push(row.endLine);
      map.x.push(x);
      map.y.push(y);
    }
    return {
      ...map,
      fine: wanted > 2 ? Int8Array.from(fine) : undefined,
      files: known.map(({ file: { path, source, mtimeMs } }) => ({ path, source, mtimeMs })),
      axes: axesText(axes),
    };
  };
}

function spread<Row>(rows: readonly Row[], most: number): readonly Row[] {
  const step = Math.ceil(rows.length / most);
  return step <= 1 ? rows : rows.filter((_, at) => at % step === 0);
}

function rounded(value: number): number {
  return Math.round(value * 5_000) / 5_000;
}

const wordDimensions = 96;
const signs = 4;

/** Unit vector of the words of a text by signed feature hashing (Weinberger et al. 2009). */
function wordVector(text: string): Float32Array {
  const counts = new Map<string, number>();
  scanTerms(text, (term, _start, _end, kind) => {
    if (kind === "word" || kind === "pair") counts.set(term, (counts.get(term) ?? 0) + 1);
  });
  const vector = new Float32Array(wordDimensions);
  for (const [term, count] of counts) {
    const weight = 1 + Math.log(count);
    let hash = 2_166_136_261;
    for (let at = 0; at < term.length; at++) hash = Math.imul(hash ^ term.charCodeAt(at), 16_777_619);
    for (let sign = 0; sign < signs; sign++) {
      hash = Math.imul(hash ^ (hash >>> 15), 2_246_822_519) ^ (sign * 40_503);
      const at = (hash >>> 1) % wordDimensions;
      vector[at] = (vector[at] ?? 0) + ((hash & 1) === 0 ? weight : -weight);
    }
  }
  const length = Math.hypot(...vector);
  return length === 0 ? vector : vector.map((value) => value / length);
}

/** Mean and principal axes, the one with the largest variance first. */
interface PlaneAxes {
  mean: Float32Array;
  axes: readonly Float32Array[];
  spread: number;
}

/** Of power iteration: a picture needs no more digits. */
const rounds = 15;

/** Principal components by power iteration with deflation (Hotelling). `sample` is not empty. */
function principalAxes(sample: readonly Float32Array[], count = 2): PlaneAxes {
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

/** Position of a vector, -1 to 1; outliers are drawn towards the edge. */
function placeOf(vector: Float32Array, plane: PlaneAxes): [number, number] {
  const within = (axis: Float32Array | undefined): number =>
    plane.spread === 0 || axis === undefined
      ? 0
      : rounded(Math.tanh(along(vector, plane.mean, axis) / (1.2 * plane.spread)));
  return [within(plane.axes[0]), within(plane.axes[1])];
}

/** Position on all axes, -127 to 127; the range is four deviations of the first axis. */
function coordinatesOf(vector: Float32Array, { mean, axes, spread }: PlaneAxes): number[] {
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

function axesText({ mean, axes, spread }: PlaneAxes): string {
  return JSON.stringify({ spread, parts: [mean, ...axes].map((part) => bytesOf(part).toString("base64")) });
}

function axesIn(text: string, dimensions: number, count = 2): PlaneAxes | undefined {
  const { spread, parts } = (jsonOf(text) ?? {}) as { spread?: unknown; parts?: unknown };
  if (typeof spread !== "number" || !Array.isArray(parts)) return undefined;
  const [mean, ...axes] = parts.map((part) => {
    const bytes = new Uint8Array(Buffer.from(String(part), "base64"));
    return new Float32Array(bytes.buffer, 0, Math.floor(bytes.byteLength / 4));
  });
  const fits = axes.length === count && [mean, ...axes].every((part) => part?.length === dimensions);
  return mean === undefined || !fits ? undefined : { mean, axes, spread };
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
