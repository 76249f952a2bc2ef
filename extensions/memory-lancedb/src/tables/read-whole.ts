import { MatchQuery, type Connection } from "@lancedb/lancedb";
import { rowsOf } from "./arrow-rows.ts";
import { isConflict } from "../store-failure.ts";

/** Why an index cannot be read to its end; undefined where it can. Reads every row of every table, and its words. */
export async function whyUnreadable(connection: Connection): Promise<unknown> {
  try {
    for (const name of await connection.tableNames()) {
      if (!/^(?:meta$|chunks_|vectors_)/.test(name)) continue;
      const table = await connection.openTable(name);
      let words: string | undefined;
      for await (const row of rowsOf<{ terms?: string | null; facts?: string | null; value?: string }>(table.query())) {
        words ??= row.terms?.trim().split(" ")[0];
        if (typeof row.facts === "string") JSON.parse(row.facts);
        if (name === "meta") JSON.parse(row.value ?? "");
      }
      if (words === undefined || words === "") continue;
      await table.query().fullTextSearch(new MatchQuery(words, "terms")).select(["id"]).limit(1).toArray();
    }
    return undefined;
  } catch (error) {
    return isConflict(error) ? undefined : error;
  }
}
