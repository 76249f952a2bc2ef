// An embedding plugin: the folder is named in plugins.load.paths, its id in memorySearch.provider (see memslot.json5).
import { type EmbeddingPlugin, defineEmbeddingPlugin } from "@memslot/core";

const dimensions = 256;
/** A shared meaning has to be seen beside the words that are not shared. */
const weightOfMeaning = 6;

/** Put the call of your own model here: one text in, `dimensions` numbers out. */
function embed(text: string, groups: readonly (readonly string[])[]): Float32Array {
  const vector = new Float32Array(dimensions);
  const words = text
    .normalize("NFC")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? [""];
  for (const word of words) {
    add(vector, word, 1);
    const meaning = groups.findIndex((group) => group.includes(word));
    if (meaning >= 0) add(vector, `meaning ${meaning}`, weightOfMeaning);
  }
  return vector;
}

/** The same word always has the same place. */
function add(vector: Float32Array, word: string, weight: number): void {
  let hash = 2_166_136_261;
  for (const letter of word) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 16_777_619) >>> 0;
  const place = hash % dimensions;
  vector[place] = (vector[place] ?? 0) + weight;
}

const plugin: EmbeddingPlugin = defineEmbeddingPlugin({
  id: "thesaurus",
  // Checked against `configSchema` of memslot.plugin.json before this is called.
  open: async ({ options }) => {
    const groups = (options["groups"] ?? []) as readonly (readonly string[])[];
    return {
      id: "thesaurus",
      model: "words-and-meanings-1",
      // Another table gives other vectors: those that are stored are then not used for it.
      cacheKey: JSON.stringify(groups),
      dimensions,
      // Stated, not kept: memslot packs, splits and tries again by these. Throw an `EmbeddingError` for what fails.
      maxInputTokens: 8000,
      maxBatchItems: 64,
      isLocal: true,
      embedQuery: async (text, { signal } = {}) => {
        signal?.throwIfAborted();
        return embed(text, groups);
      },
      embedBatch: async (texts, { signal } = {}) => {
        signal?.throwIfAborted();
        return texts.map((text) => embed(text, groups));
      },
    };
  },
});

export default plugin;
