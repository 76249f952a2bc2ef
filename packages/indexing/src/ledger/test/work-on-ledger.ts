// Works on a ledger as it is told, line by line. Arguments: path, store. `write FROM TO` writes and embeds these texts,
// `pay` pays what is owed and prints the hashes, `end` closes it.
import { createInterface } from "node:readline";
import { openLedger } from "@memslot/indexing/ledger";
import { fileOf, sha256, spaceOf, vectorOf } from "./notes.ts";

const [path = "", store = ""] = process.argv.slice(2);
const space = spaceOf("m");
const ledger = await openLedger({ store, path, cacheMaxEntries: 1000 });

async function write(from: number, to: number): Promise<string> {
  for (let number = from; number < to; number++) {
    const texts = [`text ${number}`, "the same in all"];
    await ledger.replaceFiles([fileOf(`${number}.md`, texts)]);
    const entries = texts.map((text) => ({ hash: sha256(text), vector: vectorOf(text) }));
    await ledger.putVectors(space, entries);
  }
  return "written";
}

async function pay(): Promise<string> {
  const paid: string[] = [];
  for (let batch = await ledger.owedVectors(7); batch; batch = await ledger.owedVectors(7)) {
    const hashes = batch.entries.map(({ hash }) => hash);
    paid.push(...hashes);
    await ledger.paidVectors(batch.space, hashes);
  }
  return paid.join(" ");
}

for await (const line of createInterface(process.stdin)) {
  const [what, from, to] = line.split(" ");
  if (what === "end") break;
  process.stdout.write(`${what === "write" ? await write(Number(from), Number(to)) : await pay()}\n`);
}
await ledger.close();
