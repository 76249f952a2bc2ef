import table from "./model-prefixes.json" with { type: "json" };

/** Prefixes that a model was trained with; an empty text means none. */
export interface ModelPrefixes {
  query: string;
  document: string;
  /** Names the pair, for `cacheKey`: vectors made with other prefixes are other vectors. */
  key: string;
}

// `name` is matched against the plain name: lower case, words parted by `-`; the first row that matches counts. `from`
// says where it was read. A change of a text needs a new key.
const rows = table.map((row) => ({ ...row, name: new RegExp(row.name) }));

/**
 * Prefixes for queries and documents of a model; without them it finds less. `model` in any usual spelling:
 * `nomic-embed-text:latest`, `intfloat/e5-base-v2`, `hf:user/repo/file.gguf`, a GGUF file name. Undefined for an
 * unknown model, or one without prefixes.
 */
export function modelPrefixes(model: string): ModelPrefixes | undefined {
  const plain = model.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  const row = rows.find(({ name }) => name.test(plain));
  return row && { query: row.query, document: row.document, key: row.key };
}
