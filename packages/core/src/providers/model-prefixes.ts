import table from "./model-prefixes.json" with { type: "json" };

/** What a model was trained to find in front of a text. An empty text: nothing. */
export interface ModelPrefixes {
  query: string;
  document: string;
  /** Names the pair, for `cacheKey`: vectors made with other prefixes are other vectors. */
  key: string;
}

// `name` is matched against the plain name: lower case, words parted by `-`; the first row that matches counts. `from` says
// where it was read. A change of a text needs a new key.
const rows = table.map((row) => ({ ...row, name: new RegExp(row.name) }));

/**
 * What belongs in front of queries and of documents for a model that was trained with it; without, such models find
 * markedly less. `model` is its name in any usual spelling: `nomic-embed-text:latest`, `intfloat/e5-base-v2`,
 * `hf:user/repo/file.gguf`, the name of a GGUF file. Undefined for a model that takes texts as they are, or is not known.
 */
export function modelPrefixes(model: string): ModelPrefixes | undefined {
  const plain = model.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  const row = rows.find(({ name }) => name.test(plain));
  return row && { query: row.query, document: row.document, key: row.key };
}
