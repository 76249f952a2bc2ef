import {
  type DataType,
  Field,
  FixedSizeList,
  Float32,
  Float64,
  Int32,
  RecordBatch,
  Schema,
  Struct,
  Table,
  Utf8,
  makeData,
  vectorFromArray,
} from "apache-arrow";
import { toStored } from "./filter.ts";

type ColumnType = "key" | "text" | "number" | "integer" | { vector: number };

export type Columns = Readonly<Record<string, ColumnType>>;

/** If two simultaneous commits put in the same value of this column, LanceDB repeats the later one. */
const primaryKey = new Map([["lance-schema:unenforced-primary-key", "true"]]);

export function schemaOf(columns: Columns, about?: unknown): Schema {
  const fields = Object.entries(columns).map(([name, type]) =>
    type === "key" ? new Field(name, new Utf8(), false, primaryKey) : new Field(name, arrowType(type), true),
  );
  return new Schema(fields, about === undefined ? undefined : new Map([["memslot", JSON.stringify(about)]]));
}

export function aboutOf(schema: { metadata: ReadonlyMap<string, string> }): unknown {
  const text = schema.metadata.get("memslot");
  return text === undefined ? undefined : JSON.parse(text);
}

function arrowType(type: ColumnType): DataType {
  if (type === "text" || type === "key") return new Utf8();
  if (type === "number") return new Float64();
  if (type === "integer") return new Int32();
  return new FixedSizeList(type.vector, new Field("item", new Float32(), true));
}

export type Cell = string | number | Float32Array | null;

export function tableOf(columns: Columns, rows: readonly Readonly<Record<string, Cell>>[]): Table {
  const schema = schemaOf(columns);
  const children = Object.entries(columns).map(([name, type]) => {
    const cells = rows.map((row) => row[name] ?? null);
    if (typeof type === "object") return vectorData(type.vector, cells as Float32Array[]);
    const isText = type === "text" || type === "key";
    const values = isText ? cells.map((cell) => (cell === null ? null : toStored(cell as string))) : cells;
    return vectorFromArray(values, arrowType(type)).data[0];
  });
  const data = makeData({ type: new Struct(schema.fields), length: rows.length, children: children as never });
  return new Table(schema, new RecordBatch(schema, data as never));
}

function vectorData(dimensions: number, vectors: readonly Float32Array[]): ReturnType<typeof makeData> {
  const numbers = new Float32Array(vectors.length * dimensions);
  for (const [index, vector] of vectors.entries()) numbers.set(vector, index * dimensions);
  const child = makeData({ type: new Float32(), length: numbers.length, data: numbers });
  return makeData({ type: arrowType({ vector: dimensions }) as FixedSizeList, length: vectors.length, child });
}

export async function* rowsOf<Row>(batches: AsyncIterable<RecordBatch>): AsyncGenerator<Row, void, undefined> {
  for await (const batch of batches) {
    const columns = batch.schema.fields.map(({ name }) => [name, batch.getChild(name)] as const);
    for (let index = 0; index < batch.numRows; index++) {
      const row: Record<string, unknown> = {};
      for (const [name, column] of columns) row[name] = column?.get(index);
      yield row as Row;
    }
  }
}

export async function allRows<Row>(batches: AsyncIterable<RecordBatch>): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const row of rowsOf<Row>(batches)) rows.push(row);
  return rows;
}
