import { chunkIndexConformance } from "@memslot/fakes/chunk-index";
import { chosenChecks, chosenStoreChecks } from "@memslot/test-tools/chosen-checks";
import { test } from "vitest";
import { opensIndexes } from "../support/stored-index.ts";

/** What the index of a ledger and a store promises above its store: one check of each kind. `backends/stored-index.long.test.ts` has all of them. */
const ownChecks = [
  "files: the facts of a file come back as they were given",
  "files: a cursor is kept as it was given, replaced with the file, and gone when the file has none",
  "files: each chunk has an id of its own, also two of one text",
  "texts: no text is put into another form",
  "keyword: a row carries its chunk as it was given",
  "vector: chunks without a vector are pending, each hash once, until they have one",
  "vector: a file that is renamed or moved to another source needs no new vector",
  "vector: a quarantined text is not pending, is found by its words, and is listed with every place it stands at",
  "vector: a space that is used again has all its vectors, also those of chunks that came meanwhile",
  "vector: a build is pending in another space while the old one answers in its own",
  "builds: the table of a build replaces, touches, removes and takes tails as the store does",
  "leases: what one store holds, another one on the same place is refused, until it is released",
  "leases: of many that ask at once one gets it",
  "upkeep: repair mends nothing on a healthy index and changes no answer",
];

const runner = { describe: (_name: string, body: () => void) => body(), test };
chosenChecks(runner, [...ownChecks, ...chosenStoreChecks], (chosen) =>
  chunkIndexConformance(chosen, { open: opensIndexes(), reopens: true }),
);
