import { createInterface } from "node:readline";
import { type Ledger, openLedger } from "@memslot/indexing/ledger";
import type { LeaseName } from "../ledger.ts";
import { createLeases } from "../leases.ts";
import { fileOf, leaseRows, sha256, spaceOf, vectorOf } from "./notes.ts";

// Runs commands on a ledger, line by line, until it is killed or its input ends. Arguments: path, store.
// `write FROM TO` writes and embeds these texts, `pay` pays what is owed and prints the hashes, `owe` leaves vectors
// owed and a build begun, `hold NAME FOLDER` takes a lease whose lock is in a folder.

const [path = "", store = "one"] = process.argv.slice(2);
const space = spaceOf("m");
let opened: Promise<Ledger> | undefined;
const ledger = (): Promise<Ledger> => (opened ??= openLedger({ store, path, cacheMaxEntries: 1000 }));
const entriesOf = (texts: string[]) => texts.map((text) => ({ hash: sha256(text), vector: vectorOf(text) }));

const holding: unknown[] = [];

const commands: Record<string, (...given: string[]) => Promise<string>> = {
  async write(from, to) {
    const own = await ledger();
    for (let number = Number(from); number < Number(to); number++) {
      const texts = [`text ${number}`, "the same in all"];
      await own.replaceFiles([fileOf(`${number}.md`, texts)]);
      await own.putVectors(space, entriesOf(texts));
    }
    return "written";
  },
  async pay() {
    const own = await ledger();
    const paid: string[] = [];
    for (let batch = await own.unacknowledgedVectors(7); batch; batch = await own.unacknowledgedVectors(7)) {
      const hashes = batch.entries.map(({ hash }) => hash);
      paid.push(...hashes);
      await own.acknowledgeVectors(batch.space, hashes);
    }
    return paid.join(" ");
  },
  async owe() {
    const own = await ledger();
    await own.replaceFiles([fileOf("a.md", ["one", "two", "three"])]);
    await own.putVectors(space, entriesOf(["one", "two"]));
    await own.acknowledgeVectors(space, [sha256("one")]);
    await own.note("revision", "7");
    await (await own.startBuild("v2")).replaceFiles([fileOf("b.md", ["two"])]);
    return "done";
  },
  async hold(name, locksDir) {
    const leases = createLeases({ indexPath: () => path, locksDir, rows: leaseRows(path) });
    // The garbage collector would close its lock.
    holding.push(leases);
    return leases.acquire(name as LeaseName, "test child") ? "held" : "refused";
  },
};

let answers = 0;
for await (const line of createInterface(process.stdin)) {
  const [name = "", ...given] = line.split(" ");
  process.stdout.write(`${++answers} ${await commands[name]?.(...given)}\n`);
}
await (await opened)?.close();
