import { type Connection, MatchQuery, type Table } from "@lancedb/lancedb";
import { MemoryError } from "@memslot/core";
import { type IndexPlace, type LancePlace, layoutVersion, tableNames } from "../place/place.ts";
import { isConflict } from "../lance/store-failure.ts";
import { rowsOf } from "../lance/arrow-rows.ts";
import { retryConflicts } from "../lance/writes.ts";

type Ask = <Result>(call: () => Promise<Result>) => Promise<Result>;

/** Why an index cannot be read to its end; undefined where it can. */
export async function whyUnreadable(connection: Connection): Promise<unknown> {
  for await (const [, error] of unreadable({ connection, tablePrefix: "" }, (call) => call())) return error;
  return undefined;
}

/**
 * Deletes each table of an index that cannot be read to its end, that of the leases too, and gives their names. Throws
 * where the place does not answer: what it holds is not known then.
 */
export async function dropUnreadable(place: LancePlace): Promise<string[]> {
  const ask: Ask = (call) => place.within("looking for damage", 600_000, undefined, call);
  const dropped: string[] = [];
  for await (const [name, error] of unreadable(place, ask)) {
    if (MemoryError.is(error)) throw error;
    await ask(() => retryConflicts(() => place.connection.dropTable(place.tablePrefix + name)));
    dropped.push(name);
  }
  return dropped;
}

/** The tables that cannot be read to their end, with their words. */
async function* unreadable(
  { connection, tablePrefix }: Pick<IndexPlace, "connection" | "tablePrefix">,
  ask: Ask,
): AsyncGenerator<[name: string, error: unknown]> {
  for (const name of await ask(() => tableNames(connection, tablePrefix))) {
    if (!name.startsWith(`v${layoutVersion}_`)) continue;
    try {
      await ask(async () => readAll(await connection.openTable(tablePrefix + name)));
    } catch (error) {
      if (!isConflict(error)) yield [name, error];
    }
  }
}

async function readAll(table: Table): Promise<void> {
  let words: string | undefined;
  for await (const row of rowsOf<{ terms?: string | null; row?: string }>(table.query())) {
    words ??= row.terms?.trim().split(" ")[0];
    if (row.row !== undefined) JSON.parse(row.row);
  }
  if (words === undefined || words === "") return;
  await table.query().fullTextSearch(new MatchQuery(words, "terms")).select(["_score"]).limit(1).toArray();
}
