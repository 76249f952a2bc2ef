import { connect } from "@lancedb/lancedb";
import { expect, test, vi } from "vitest";
import { tempFolder } from "../../test/places.ts";
import { createLeaseRows, createLeaseTable } from "./lease-table.ts";

test("a host that makes the table at the same moment as another one tries again, and finds it", async () => {
  const connection = await connect(await tempFolder());
  const make = connection.createEmptyTable.bind(connection);
  let refused = 0;
  vi.spyOn(connection, "createEmptyTable").mockImplementation(async (...given: Parameters<typeof make>) => {
    const table = await make(...given);
    // What LanceDB says of two that make a table at once, when the other one was faster.
    if (refused++ < 2)
      throw new Error(
        "lance error: Retryable commit conflict for version 2: This Overwrite transaction was preempted by concurrent transaction Overwrite at version 2. Please retry.",
      );
    return table;
  });
  const leases = createLeaseTable({
    connection,
    tableName: "leases",
    placeName: "here",
    probes: false,
    within: (_what, _ms, _signal, call) => call(),
  });
  expect(await (await leases.toWrite()).countRows()).toBe(3);
  expect(refused).toBe(3);
  connection.close();
});

test("a table that an earlier release has made gets the row that it lacks, once", async () => {
  const connection = await connect(await tempFolder());
  const within = <T>(_what: string, _ms: number, _signal: unknown, call: () => Promise<T>): Promise<T> => call();
  const source = createLeaseTable({ connection, tableName: "leases", placeName: "here", probes: false, within });
  const table = await source.toWrite();
  await table.delete("name = 'compact'");
  const rows = createLeaseRows(source, within, Date.now);
  expect(await rows.read("compact")).toBeUndefined();
  await Promise.all(["one", "two"].map((token) => rows.change("compact", "token = ''", { token })));
  const held = await rows.read("compact");
  expect(["one", "two"]).toContain(held?.token);
  await table.checkoutLatest();
  expect(await table.countRows("name = 'compact'")).toBe(1);
  // A condition that does not hold adds none.
  await rows.change("compact", "token = 'other'", { token: "three" });
  expect((await rows.read("compact"))?.token).toBe(held?.token);
  connection.close();
});
