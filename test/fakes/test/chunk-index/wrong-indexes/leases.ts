import type { IndexLeases } from "@memslot/indexing";
import { type FullIndex, type LeaseTable, createLeases } from "../remembering-indexes.ts";
import type { WrongIndex } from "./wrong-index.ts";

const given = "leases: one that is free is given, has a holder, and is free again after release";
const excluded = "leases: what one store holds, another one on the same place is refused, until it is released";

export const wrongWithLeases: readonly WrongIndex[] = [
  { fault: "names no holder", caughtBy: given, spoil: (right) => change(right, { holder: async () => undefined }) },
  { fault: "never lets go", caughtBy: given, spoil: (right) => change(right, { release: async () => undefined }) },
  { fault: "gives no lease", caughtBy: given, spoil: (right) => change(right, { acquire: async () => false }) },
  {
    fault: "knows the leases of its own process only",
    caughtBy: excluded,
    spoil: () => ({ leases: createLeases(new Map(), {}) }),
  },
  {
    fault: "releases what another one holds",
    caughtBy: excluded,
    spoil: sharing((table, leases) => ({ ...leases, release: async (name) => void table.delete(name) })),
  },
  {
    fault: "has one lease under two names",
    caughtBy: "leases: each is given by itself",
    spoil: (right) => change(right, { acquire: (_name, reason) => right.leases.acquire("build", reason) }),
  },
  {
    fault: "holds its leases after it was closed",
    caughtBy: "leases: a store that is closed, and one that is opened after a reopen, holds none",
    spoil: () => ({ close: async () => undefined }),
  },
  {
    fault: "looks whether a lease is free, and takes it a moment later",
    caughtBy: "leases: of many that ask at once one gets it",
    spoil: sharing((table, leases) => ({
      ...leases,
      async acquire(name, reason) {
        if (table.has(name)) return false;
        await new Promise<void>((done) => setImmediate(done));
        table.set(name, { owner: leases, writer: { pid: 1, reason, since: "" } });
        return true;
      },
    })),
  },
  ...(
    [
      ["keeps progress to itself", () => ({ report: async () => undefined })],
      [
        "shows the progress of the last holder",
        (right) => {
          let last = {};
          return {
            async report(progress) {
              last = progress;
              await right.leases.report(progress);
            },
            async holder(name) {
              const writer = await right.leases.holder(name);
              return writer && { ...writer, ...last };
            },
          };
        },
      ],
    ] satisfies [string, (right: FullIndex) => Partial<IndexLeases>][]
  ).map(([fault, spoil]): WrongIndex => ({
    fault,
    caughtBy: "leases: how far the holder of the build is, another store can read",
    spoil: (right) => change(right, spoil(right)),
  })),
  {
    fault: "answers no search while another one works on the files",
    caughtBy: "leases: searches need none",
    spoil: (right) => ({
      async searchKeyword(query) {
        if (!(await right.leases.acquire("files", "a search"))) throw new Error("database is locked");
        await right.leases.release("files");
        return right.searchKeyword(query);
      },
    }),
  },
];

function change(right: FullIndex, leases: Partial<IndexLeases>): Pick<FullIndex, "leases"> {
  return { leases: { ...right.leases, ...leases } };
}

/** Leases over a table that all stores share which are opened for a check. */
function sharing(spoil: (table: LeaseTable, leases: IndexLeases) => IndexLeases): WrongIndex["spoil"] {
  const table: LeaseTable = new Map();
  return () => ({ leases: spoil(table, createLeases(table, {})) });
}
