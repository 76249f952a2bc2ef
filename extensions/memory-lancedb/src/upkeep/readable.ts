import { type Connection, MatchQuery, type Table } from "@lancedb/lancedb";
import { MemoryError } from "@memslot/core";
import { type LancePlace, layoutVersion, tableNames } from "../place/place.ts";
import { isConflict } from "../store-failure.ts";
import { rowsOf } from "../tables/arrow-rows.ts";
import { retryConflicts } from "../tables/writes.ts";

/** The first table that cannot be read to its end, with the reason; undefined where all can. */
export async function whyUnreadable(connection: Connection): Promise<unknown> {
  for (const name of await connection.tableNames()) {
    const error = isOurs(name) ? await whyNotRead(() => connection.openTable(name)) : undefined;
    if (error !== undefined) return error;
  }
  return undefined;
}

/**
 * Deletes each table of an index that cannot be read to its end, that of the leases too, and gives their names. Throws
 * where the place does not answer: what it holds is not known then.
 */
export async function dropUnreadable(place: LancePlace): Promise<string[]> {
  const { connection, tablePrefix: prefix, within } = place;
  const ask = <Result>(call: () => Promise<Result>): Promise<Result> =>
    within("looking for damage", 600_000, undefined, call);
  const dropped: string[] = [];
  for (const name of await ask(() => tableNames(connection, prefix))) {
    if (!isOurs(name)) continue;
    const error = await whyNotRead(() => ask(() => connection.openTable(prefix + name)), ask);
    if (error === undefined) continue;
    if (MemoryError.is(error)) throw error;
    await ask(() => retryConflicts(() => connection.dropTable(prefix + name)));
    dropped.push(name);
  }
  return dropped;
}

function isOurs(name: string): boolean {
  return name.startsWith(`v${layoutVersion}_`);
}

/** Reads every row of a table, and its words. */
async function whyNotRead(
  open: () => Promise<Table>,
  ask = <Result>(call: () => Promise<Result>): Promise<Result> => call(),
): Promise<unknown> {
  try {
    const table = await open();
    await ask(async () => {
      let words: string | undefined;
      for await (const row of rowsOf<{ terms?: string | null; row?: string }>(table.query())) {
        words ??= row.terms?.trim().split(" ")[0];
        if (row.row !== undefined) JSON.parse(row.row);
      }
      if (words === undefined || words === "") return;
      await table.query().fullTextSearch(new MatchQuery(words, "terms")).select(["_score"]).limit(1).toArray();
    });
    return undefined;
  } catch (error) {
    return isConflict(error) ? undefined : error;
  }
}
