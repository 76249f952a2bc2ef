// Writes a file, embeds it, pays the first text, begins a build, and waits to be killed. Argument: path.
import { createInterface } from "node:readline";
import { openLedger } from "@memslot/indexing/ledger";
import { fileOf, sha256, spaceOf, vectorOf } from "./notes.ts";

const ledger = await openLedger({ store: "one", path: process.argv[2] ?? "", cacheMaxEntries: 1000 });
for await (const _ of createInterface(process.stdin)) {
  await ledger.replaceFiles([fileOf("a.md", ["one", "two", "three"])]);
  const entries = ["one", "two"].map((text) => ({ hash: sha256(text), vector: vectorOf(text) }));
  await ledger.putVectors(spaceOf("m"), entries);
  await ledger.paidVectors(spaceOf("m"), [sha256("one")]);
  await ledger.note("revision", "7");
  const build = await ledger.startBuild("v2");
  await build.replaceFiles([fileOf("b.md", ["two"])]);
  process.stdout.write("done\n");
}
