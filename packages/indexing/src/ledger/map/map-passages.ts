import type Database from "better-sqlite3";
import type { MapAsked, MappedPassages } from "../../chunk-index.ts";
import { toVector } from "../cache/stored-vector.ts";
import type { Pieces } from "../thread/pieces.ts";
import { axesIn, axesText, placeOf, type PlaneAxes, principalAxes } from "./principal-axes.ts";
import { wordDimensions, wordVector } from "./word-vector.ts";

const mostPoints = 50_000;
/** The axes are those of so many passages, spread over all of them. */
const sampled = 2_000;
/** Passages that are drawn between two looks at what else is to be done. */
const page = 500;

interface PassageRow {
  id: number;
  file: number;
  startLine: number;
  endLine: number;
  embedding?: Buffer;
  context?: string;
  text?: string;
}

/** Places of the passages of a generation. `spaceId` undefined: by their words. */
export function createMapPassages(
  db: Database.Database,
): (generation: number, spaceId: number | undefined, asked: MapAsked) => Pieces<MappedPassages> {
  const counted = db
    .prepare<[number], number>("SELECT count(*) FROM chunks c JOIN files f ON f.id = c.file_id WHERE f.generation = ?")
    .pluck();
  const files = db.prepare<[number], MappedPassages["files"][number] & { id: number }>(
    "SELECT id, path, source, mtime AS mtimeMs FROM files WHERE generation = ?",
  );
  const list = (what: string): Database.Statement<[Record<string, number>], PassageRow> =>
    db.prepare(`
      SELECT c.id, c.file_id AS file, c.start_line AS startLine, c.end_line AS endLine, ${what}
      WHERE f.generation = :generation AND c.id > :after AND c.id % :step = 0 ORDER BY c.id LIMIT :limit
    `);

  return async function* mapPassages(generation, spaceId, { query, axes: kept }) {
    const isByMeaning = spaceId !== undefined;
    const rows = isByMeaning
      ? list(`v.embedding FROM chunks c JOIN files f ON f.id = c.file_id
          JOIN embedding_cache e ON e.hash = c.hash AND e.space_id = :spaceId JOIN vectors v ON v.id = e.vector_id`)
      : list("c.context, c.text FROM chunks c JOIN files f ON f.id = c.file_id");
    const vectorOf = ({ embedding, context = "", text = "" }: PassageRow): Float32Array =>
      embedding === undefined ? wordVector(`${context}\n${text}`) : toVector(embedding);
    async function* each(step: number): AsyncGenerator<PassageRow | undefined> {
      for (let after = -1; ;) {
        const own = rows.all({ generation, after, step, limit: page, ...(isByMeaning && { spaceId }) });
        yield* own;
        if (own.length < page) return;
        after = own.at(-1)?.id ?? after;
        // Between two pages others are answered.
        yield undefined;
      }
    }
    const passages = counted.get(generation) ?? 0;

    let axes: PlaneAxes | undefined;
    const sample: Float32Array[] = [];
    for await (const row of each(Math.max(1, Math.floor(passages / sampled)))) {
      if (row === undefined) yield;
      // What SQLite gives is used again for the next row.
      else sample.push(vectorOf(row).slice());
      // The length of the vectors is all that is wanted where their axes are kept.
      if (sample.length > 0 && kept !== undefined && (axes = axesIn(kept, sample[0]?.length ?? wordDimensions))) break;
    }
    yield;
    if (sample.length === 0) return empty(passages);
    axes ??= principalAxes(sample);
    yield;

    const columns = {
      file: [] as number[],
      startLine: [] as number[],
      endLine: [] as number[],
      x: [] as number[],
      y: [] as number[],
    };
    const byId = new Map(files.all(generation).map(({ id, ...file }, index) => [id, { index, file }]));
    for await (const row of each(Math.max(1, Math.ceil(passages / mostPoints)))) {
      if (row === undefined) {
        yield;
        continue;
      }
      const file = byId.get(row.file);
      // Written while we look.
      if (file === undefined) continue;
      const [x, y] = placeOf(vectorOf(row), axes);
      columns.file.push(file.index);
      columns.startLine.push(row.startLine);
      columns.endLine.push(row.endLine);
      columns.x.push(rounded(x));
      columns.y.push(rounded(y));
    }
    const asked = typeof query === "string" ? wordVector(query) : query;
    return {
      passages,
      files: [...byId.values()].map(({ file }) => file),
      ...columns,
      axes: axesText(axes),
      query: asked?.length === axes.mean.length ? (placeOf(asked, axes).map(rounded) as [number, number]) : undefined,
    };
  };
}

function empty(passages: number): MappedPassages {
  return { passages, files: [], file: [], startLine: [], endLine: [], x: [], y: [], axes: undefined, query: undefined };
}

/** To a hundredth of a percent of the width. */
function rounded(value: number): number {
  return Math.round(value * 5_000) / 5_000;
}
