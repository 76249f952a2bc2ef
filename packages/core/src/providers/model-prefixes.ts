import table from "./model-prefixes.json" with { type: "json" };

export interface ModelPrefixes {
  query: string;
  document: string;
  /** Names the pair, for `cacheKey`: vectors made with other prefixes are other vectors. */
  key: string;
}

// `name` is matched against the lower-case name with `-`; the first match counts. A new text needs a new key.
const rows = table.map((row) => ({ ...row, name: new RegExp(row.name) }));

/** Query and document prefixes of a model, in any usual spelling; undefined if it has none. */
export function modelPrefixes(model: string): ModelPrefixes | undefined {
  const plain = model.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  const row = rows.find(({ name }) => name.test(plain));
  return row && { query: row.query, document: row.document, key: row.key };
}
