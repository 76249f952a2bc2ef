/** What a model was trained to find in front of a text. An empty text: nothing. */
export interface ModelPrefixes {
  query: string;
  document: string;
  /** Names the pair, for `cacheKey`: vectors made with other prefixes are other vectors. */
  key: string;
}

interface Row extends ModelPrefixes {
  /** Matched against the plain name: lower case, words parted by `-`. */
  name: RegExp;
}

const searchTask = "Given a web search query, retrieve relevant passages that answer the query";
const sentence = "Represent this sentence for searching relevant passages: ";

// The first row that matches counts. A change of a text needs a new key.
const rows: readonly Row[] = [
  // huggingface.co/google/embeddinggemma-300m, "Prompt Instructions": retrieval (query), retrieval (document)
  {
    name: /embedding-?gemma/,
    query: "task: search result | query: ",
    document: "title: none | text: ",
    key: "embeddinggemma",
  },
  // huggingface.co/nomic-ai/nomic-embed-text-v1.5 and nomic-embed-text-v2-moe, "Task instruction prefixes"
  { name: /nomic-embed-text/, query: "search_query: ", document: "search_document: ", key: "nomic" },
  // huggingface.co/intfloat/multilingual-e5-large-instruct and e5-mistral-7b-instruct: instructions for queries only
  {
    name: /\be5-(?:small|base|large|mistral)\b.*\binstruct\b/,
    query: `Instruct: ${searchTask}\nQuery: `,
    document: "",
    key: "e5-instruct",
  },
  // huggingface.co/intfloat/e5-base-v2 and multilingual-e5-base
  { name: /\be5-(?:small|base|large)\b/, query: "query: ", document: "passage: ", key: "e5" },
  // huggingface.co/Qwen/Qwen3-Embedding-0.6B: `get_detailed_instruct`, with no space behind "Query:"
  {
    name: /\bqwen-?3-embed/,
    query: `Instruct: ${searchTask}\nQuery:`,
    document: "",
    key: "qwen3",
  },
  // huggingface.co/BAAI/bge-large-zh-v1.5, "Model List": the query instruction of the Chinese models
  {
    name: /\bbge-(?:small|base|large)-zh\b(?!.*\bnoinstruct\b)/,
    query: "为这个句子生成表示以用于检索相关文章：",
    document: "",
    key: "bge-zh",
  },
  // huggingface.co/BAAI/bge-large-en-v1.5, the same list: the English models. bge-m3 takes none.
  { name: /\bbge-(?:small|base|large)-en\b/, query: sentence, document: "", key: "bge-en" },
  // huggingface.co/mixedbread-ai/mxbai-embed-large-v1, "Quickstart"
  { name: /\bmxbai-embed-large\b/, query: sentence, document: "", key: "mxbai" },
  // huggingface.co/Snowflake/snowflake-arctic-embed-l-v2.0: the second generation, snowflake-arctic-embed2 at Ollama
  { name: /\barctic-embed(?:2\b|-[a-z]+-v2\b)/, query: "query: ", document: "", key: "arctic-2" },
  // huggingface.co/Snowflake/snowflake-arctic-embed-m-v1.5: the first one
  { name: /\barctic-embed\b/, query: sentence, document: "", key: "arctic-1" },
];

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
