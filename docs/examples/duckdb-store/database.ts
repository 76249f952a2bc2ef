import type { DuckDBConnection, DuckDBType, DuckDBValue } from "@duckdb/node-api";

/** A value for a statement, with its type: that of an empty list cannot be seen from it. */
export type Parameter = readonly [value: DuckDBValue, type: DuckDBType];

export interface Database {
  /** Runs one statement beside whatever is being written, and sees what was committed before it. */
  read(sql: string, parameters: Readonly<Record<string, Parameter>>): Promise<Record<string, unknown>[]>;
  /** Everything that `work` runs is there with its end, or nothing of it. */
  write(
    work: (run: (sql: string, parameters?: Record<string, Parameter>) => Promise<void>) => Promise<void>,
  ): Promise<void>;
  texts(values: readonly string[]): Parameter;
  text(value: string): Parameter;
  numbers(values: readonly number[]): Parameter;
  flags(values: readonly boolean[]): Parameter;
  number(value: number): Parameter;
  flag(value: boolean): Parameter;
  vector(value: Float32Array): Parameter;
  vectors(values: readonly Float32Array[]): Parameter;
  close(): void;
}

const tables = `
  create table if not exists files (path text, source text, hash text, recipe text);
  create table if not exists chunks (id integer, path text, source text, line integer, hash text, length integer);
  create table if not exists words (chunk integer, word text, times integer);
  create table if not exists vectors (space text, hash text, vector float[]);`;

/** `file` may be ":memory:". The library is loaded here, so that importing this package loads nothing. */
export async function openDatabase(file: string): Promise<Database> {
  const { BOOLEAN, DuckDBInstance, FLOAT, INTEGER, LIST, VARCHAR, listValue } = await import("@duckdb/node-api");
  const instance = await DuckDBInstance.create(file);
  const reader = await instance.connect();
  // A transaction belongs to a connection: searches on the same one would see what is half written.
  const writer = await instance.connect();
  await writer.run(tables);

  return {
    async read(sql, parameters) {
      const result = await reader.runAndReadAll(sql, part(parameters, 0), part(parameters, 1));
      return result.getRowObjectsJS();
    },
    async write(work) {
      await writer.run("begin");
      try {
        await work(async (sql, parameters = {}) => {
          await writer.run(sql, part(parameters, 0), part(parameters, 1));
        });
        await writer.run("commit");
      } catch (error) {
        await rollBack(writer);
        throw error;
      }
    },
    texts: (values) => [listValue([...values]), LIST(VARCHAR)],
    text: (value) => [value, VARCHAR],
    numbers: (values) => [listValue([...values]), LIST(INTEGER)],
    number: (value) => [value, INTEGER],
    flag: (value) => [value, BOOLEAN],
    flags: (values) => [listValue([...values]), LIST(BOOLEAN)],
    vector: (value) => [listValue([...value]), LIST(FLOAT)],
    vectors: (values) => [listValue(values.map((each) => listValue([...each]))), LIST(LIST(FLOAT))],
    close() {
      reader.closeSync();
      writer.closeSync();
      instance.closeSync();
    },
  };
}

/** All values, or all types. */
function part<At extends 0 | 1>(
  parameters: Readonly<Record<string, Parameter>>,
  at: At,
): Record<string, Parameter[At]> {
  return Object.fromEntries(Object.entries(parameters).map(([name, parameter]) => [name, parameter[at]]));
}

/** A statement that failed may have ended the transaction already. */
async function rollBack(writer: DuckDBConnection): Promise<void> {
  await writer.run("rollback").catch(() => undefined);
}
