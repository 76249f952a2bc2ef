/**
 * What a memory plugin may say of itself in its manifest, so that a person who changes the slot is told what is gained
 * and what is lost. A manifest lists the names that apply under `features`; what else is to be known goes into `limits`,
 * a sentence each.
 */
export const memoryFeatures = {
  keyword: "finds words, identifiers and Chinese, Japanese, Korean and Thai text as written",
  vector: "finds by meaning with the embedding provider of the configuration",
  "own-models": "finds by meaning with models that the backend brings itself",
  "shared-vectors": "uses the vectors that another backend has made, so that a change of the slot embeds nothing again",
  sessions: "searches session transcripts",
  sections: "finds several places in one file",
  fresh: "finds a note with the first search after it was saved",
  rebuild: "answers from the index that is there while a new one is built",
  upkeep: "checks, mends and compacts its index",
  estimate: "says beforehand what embedding will cost",
  "shared-index": "keeps one index for many machines",
  "in-process": "needs no other program",
} as const;

/** A name of `memoryFeatures`. */
export type MemoryFeature = keyof typeof memoryFeatures;
