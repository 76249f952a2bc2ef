import type Database from "better-sqlite3";
import type { MapAsked, MappedPassages } from "../../chunk-index.ts";
import { toVector } from "../cache/stored-vector.ts";
import type { Pieces } from "../thread/pieces.ts";
import { axesIn, axesText, coordinatesOf, placeOf, type PlaneAxes, principalAxes } from "./principal-axes.ts";
import { scanTerms } from "../../text/words.ts";

const mostPoints = 50_000;
/** The axes are those of so many passages, spread over all of them. */
const sampled = 1_500;
/** Passages that are drawn between two looks at what else is to be done. */
const page = 1_000;

interface PassageRow {
  file: number;
  startLine: number;
  endLine: number;
  /** Of what its place is made of: a vector, or the chunk itself. */
  made: number;
}

/** Places of the passages of a generation. `spaceId` undefined: by their words. */
export function createMapPassages(
  db: Database.Database,
): (generation: number, spaceId: number | undefined, asked: MapAsked) => Pieces<MappedPassages> {
  const files = db.prepare<[number], MappedPassages["files"][number] & { id: number; chunks: number }>(
    "SELECT id, path, source, mtime AS mtimeMs, chunks FROM files WHERE generation = ?",
  );
  const columns = "c.file_id AS file, c.start_line AS startLine, c.end_line AS endLine";
  const byMeaning = db.prepare<[Record<string, number>], PassageRow>(`
    SELECT ${columns}, e.vector_id AS made FROM files f JOIN chunks c ON c.file_id = f.id
    JOIN embedding_cache e ON e.hash = c.hash AND e.space_id = :spaceId WHERE f.generation = :generation ORDER BY c.id
  `);
  const byWords = db.prepare<[Record<string, number>], PassageRow>(`
    SELECT ${columns}, c.id AS made FROM files f JOIN chunks c ON c.file_id = f.id
    WHERE f.generation = :generation ORDER BY c.id
  `);
  const embedding = db.prepare<[number], Buffer>("SELECT embedding FROM vectors WHERE id = ?").pluck();
  const words = db.prepare<[number], { context: string; text: string }>(
    "SELECT context, text FROM chunks WHERE id = ?",
  );

  return async function* mapPassages(generation, spaceId, { query, axes: kept, dimensions: wanted = 2 }) {
    const known = files.all(generation).map(({ chunks, ...file }) => ({ chunks, file }));
    const passages = known.reduce((sum, { chunks }) => sum + chunks, 0);
    const indexOf = new Map(known.map(({ file: { id } }, index) => [id, index]));
    const all = spaceId === undefined ? byWords.all({ generation }) : byMeaning.all({ generation, spaceId });
    const rows = spread(all, mostPoints);
    yield;

    /** Undefined for what was taken away meanwhile. */
    const vectorOf = ({ made }: PassageRow): Float32Array | undefined => {
      if (spaceId === undefined) {
        const chunk = words.get(made);
        return chunk && wordVector(`${chunk.context}\n${chunk.text}`);
      }
      const bytes = embedding.get(made);
      return bytes && toVector(bytes);
    };
    const [first] = rows;
    const dimensions = (first && vectorOf(first)?.length) ?? 0;
    let axes: PlaneAxes | undefined = kept === undefined ? undefined : axesIn(kept, dimensions, wanted);
    if (axes === undefined) {
      const sample = spread(rows, sampled).flatMap((row) => vectorOf(row) ?? []);
      yield;
      if (sample.length === 0) return nothing(passages);
      axes = principalAxes(sample, wanted);
      yield;
    }

    const drawn: Pick<MappedPassages, "file" | "startLine" | "endLine" | "x" | "y"> = {
      file: [],
      startLine: [],
      endLine: [],
      x: [],
      y: [],
    };
    const fine: number[] = [];
    for (const [at, row] of rows.entries()) {
      if (at % page === page - 1) yield;
      const [vector, file] = [vectorOf(row), indexOf.get(row.file)];
      if (vector === undefined || file === undefined) continue;
      const [x, y] = placeOf(vector, axes);
      if (wanted > 2) fine.push(...coordinatesOf(vector, axes));
      drawn.file.push(file);
      drawn.startLine.push(row.startLine);
      drawn.endLine.push(row.endLine);
      drawn.x.push(rounded(x));
      drawn.y.push(rounded(y));
    }
    const asked = typeof query === "string" ? wordVector(query) : query;
    const isPlaced = asked?.length === axes.mean.length;
    if (wanted > 2 && isPlaced) fine.push(...coordinatesOf(asked, axes));
    return {
      passages,
      fine: wanted > 2 ? Int8Array.from(fine) : undefined,
      files: known.map(({ file: { path, source, mtimeMs } }) => ({ path, source, mtimeMs })),
      ...drawn,
      axes: axesText(axes),
      query: isPlaced ? roundedPlace(placeOf(asked, axes)) : undefined,
    };
  };
}

/** So many of them, from all over the list. */
function spread<Row>(rows: readonly Row[], most: number): readonly Row[] {
  const step = Math.ceil(rows.length / most);
  return step <= 1 ? rows : rows.filter((_, at) => at % step === 0);
}

function nothing(passages: number): MappedPassages {
  return {
    passages,
    files: [],
    file: [],
    startLine: [],
    endLine: [],
    x: [],
    y: [],
    axes: undefined,
    fine: undefined,
    query: undefined,
  };
}

/** To a hundredth of a percent of the width. */
function rounded(value: number): number {
  return Math.round(value * 5_000) / 5_000;
}

function roundedPlace([x, y]: readonly [number, number]): [number, number] {
  return [rounded(x), rounded(y)];
}

const wordDimensions = 96;
const signs = 4;

/**
 * A text as a vector of its words: each word adds or takes 1 in a few places that its letters choose (feature hashing with
 * signs, Weinberger et al. 2009), a word that stands there again adds less. Unit length; all zero for a text without words.
 */
export function wordVector(text: string): Float32Array {
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
