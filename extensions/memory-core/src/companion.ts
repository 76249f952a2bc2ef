import type { CompanionModule, CompanionTables } from "@memslot/indexing/ledger-tables";
import type Database from "better-sqlite3";
import type { VectorSettings } from "./vectors/engines/engines.ts";
import { createVectorSearch, type VectorSearch } from "./vectors/vector-search.ts";
import { noFts, settleWords, wordsNotice } from "./words/repair-words.ts";
import { createWordIndex, hasFts } from "./words/word-tables.ts";
import { createWords } from "./words/word-index.ts";

export interface CompanionSettings {
  vector: VectorSettings;
  /** Simulates SQLite without FTS5. */
  disableFts: boolean;
}

/** Requests to the thread besides those of a ledger. */
export type CompanionCalls = Pick<ReturnType<typeof createWords>, "searchKeyword"> & Pick<VectorSearch, "searchVector">;

export const createCompanion: CompanionModule["createCompanion"] = (settings) =>
  companionOf(settings as CompanionSettings);

function companionOf({ vector, disableFts }: CompanionSettings): CompanionTables {
  const canIndex = (db: Database.Database): boolean => !disableFts && hasFts(db);
  return {
    begin(db, generation) {
      if (canIndex(db)) db.exec(createWordIndex(generation));
    },
    settle({ path, ...input }) {
      const withWords = canIndex(input.db);
      const areEmptied = withWords && settleWords(input);
      return {
        notice: areEmptied ? wordsNotice(path) : undefined,
        open(parts) {
          const words = createWords(parts, withWords ? undefined : noFts);
          const vectors = createVectorSearch({ ...parts, settings: vector });
          return {
            calls: {
              searchKeyword: words.searchKeyword,
              searchVector: vectors.searchVector,
            },
            wrote(generation, chunks) {
              words.wrote(generation, chunks);
              vectors.wrote(generation, chunks);
            },
            embedded: vectors.embedded,
            useSpace: vectors.useSpace,
            prepare: vectors.prepare,
            drop(generation) {
              if (words.drop(generation) || vectors.drop(generation)) return "some";
              return words.holds(generation) || vectors.holds(generation) ? "kept" : "none";
            },
            count: words.count,
            tidy: async (isQuiet) => (await words.tidy(isQuiet)) || vectors.tidy(isQuiet),
            // Words before files: removing a file removes its words, which must be intact.
            parts: { first: [words.part], last: [vectors.part] },
            async *compact(generation) {
              yield* words.compact(generation);
              vectors.compact(generation);
            },
            health: () => ({ fts: words.health(), vector: vectors.health() }),
          };
        },
      };
    },
  };
}
