import type { IndexPlace } from "../place/place.ts";
import { type Cell, type Columns, rowsOf, tableOf } from "../lance/arrow-rows.ts";
import { Builds } from "../tables/builds.ts";
import { atLeast } from "../lance/filter.ts";
import { createTables, fileColumns, partOf, type Tables, vectorColumns } from "../tables/tables.ts";
import type { Table } from "@lancedb/lancedb";

const rowsAtOnce = 4000;

/**
 * Copies the index that answers at another place, with the vectors of all spaces: whole, or nothing that a search finds.
 * Two hosts that do so at once leave one of both.
 */
export async function takeOver(from: IndexPlace, to: Tables, builds: Builds): Promise<void> {
  const source = createTables(from.connection, from.tablePrefix);
  try {
    const { active, names } = await new Builds(source, undefined).find();
    if (active === undefined) return;
    for (const id of names.flatMap((name) => partOf(name, "vectors") ?? [])) {
      const opened = await source.openSpace(id, false);
      if (opened === undefined) continue;
      const columns = vectorColumns(opened.space.dimensions);
      await copyRows(opened.table.query(), await to.makeSpace(opened.space), columns, "hash");
    }
    const { number, table } = await builds.start("taken over");
    // Without the row that says that it is finished.
    await copyRows(active.table.query().where(atLeast("line", 0)), table, fileColumns, "id");
    await builds.finish(number);
  } finally {
    await source.close();
  }
}

async function copyRows(
  rows: Parameters<typeof rowsOf>[0],
  table: Table,
  columns: Columns,
  key: string,
): Promise<void> {
  let some: Record<string, Cell>[] = [];
  async function send(): Promise<void> {
    if (some.length > 0)
      await table.mergeInsert(key).whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(tableOf(columns, some));
    some = [];
  }
  for await (const row of rowsOf<Record<string, Cell | { toArray(): Float32Array }>>(rows)) {
    const cells = Object.entries(row).map(([name, cell]) => [
      name,
      typeof cell === "object" && cell !== null && "toArray" in cell ? cell.toArray() : cell,
    ]);
    some.push(Object.fromEntries(cells) as Record<string, Cell>);
    if (some.length >= rowsAtOnce) await send();
  }
  await send();
}
