import { describe, expect, test } from "vitest";
import { modelPrefixes } from "@memslot/core/providers";

const sentence = "Represent this sentence for searching relevant passages: ";

describe("the prefixes of a model", () => {
  test.each([
    ["embeddinggemma", "embeddinggemma:300m", "task: search result | query: ", "title: none | text: "],
    [
      "embeddinggemma",
      "hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf",
      "task: search result | query: ",
      "title: none | text: ",
    ],
    ["nomic", "nomic-embed-text:latest", "search_query: ", "search_document: "],
    ["nomic", "text-embedding-nomic-embed-text-v1.5", "search_query: ", "search_document: "],
    ["nomic", "hf:nomic-ai/nomic-embed-text-v2-moe-GGUF/nomic.Q4_K_M.gguf", "search_query: ", "search_document: "],
    ["e5", "intfloat/multilingual-e5-large", "query: ", "passage: "],
    ["e5", "E5_Base_v2.Q8_0.gguf", "query: ", "passage: "],
    ["bge-en", "BAAI/bge-small-en-v1.5", sentence, ""],
    ["bge-en", "@cf/baai/bge-large-en", sentence, ""],
    ["bge-zh", "quentinz/bge-large-zh-v1.5:latest", "为这个句子生成表示以用于检索相关文章：", ""],
    ["mxbai", "mxbai-embed-large:335m", sentence, ""],
    ["arctic-1", "snowflake-arctic-embed:110m", sentence, ""],
    ["arctic-1", "Snowflake/snowflake-arctic-embed-m-v1.5", sentence, ""],
    ["arctic-2", "snowflake-arctic-embed2:568m", "query: ", ""],
    ["arctic-2", "snowflake-arctic-embed-l-v2.0-q8_0.gguf", "query: ", ""],
  ])("%s: %s", (key, model, query, document) => {
    expect(modelPrefixes(model)).toEqual({ key, query, document });
  });

  test.each(["intfloat/multilingual-e5-large-instruct", "e5-mistral-7b-instruct-Q4_K_M.gguf"])(
    "%s takes an instruction for queries, with a space before the query",
    (model) => {
      const found = modelPrefixes(model);
      expect(found?.key).toBe("e5-instruct");
      expect(found?.query).toMatch(/^Instruct: [^\n]+\nQuery: $/);
      expect(found?.document).toBe("");
    },
  );

  test.each(["qwen3-embedding:0.6b", "Qwen/Qwen3-Embedding-8B", "hf:Qwen/Qwen3-Embedding-0.6B-GGUF/x.gguf"])(
    "%s takes an instruction for queries, with none",
    (model) => {
      const found = modelPrefixes(model);
      expect(found?.key).toBe("qwen3");
      expect(found?.query).toMatch(/^Instruct: [^\n]+\nQuery:$/);
      expect(found?.document).toBe("");
    },
  );

  test.each([
    "text-embedding-3-small",
    "gemini-embedding-001",
    "bge-m3",
    "bge-reranker-large",
    "bge-large-zh-noinstruct",
    "all-minilm:l6-v2",
    "nomic-embed-code",
    "deepset-mxbai-embed-de-large-v1",
    "",
  ])('"%s" takes texts as they are', (model) => {
    expect(modelPrefixes(model)).toBeUndefined();
  });
});
