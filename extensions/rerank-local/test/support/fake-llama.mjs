// Stands in the place of node-llama-cpp in the process that runs a model: words are tokens, and the score of a text is the
// share of the query's words that it holds. The words "hang" and "crash" in a query do so.
export const LlamaLogLevel = {};

const tokenize = (text) => text.toLowerCase().match(/[\p{L}\p{N}]+|\S/gu) ?? [];
const model = {
  trainContextSize: 64,
  embeddingVectorSize: 1,
  tokenize,
  async createRankingContext({ contextSize }) {
    return {
      model,
      calculateInputLength: (query, document) => query.length + document.length + 3,
      async rank(query, document) {
        if (query.length + document.length + 3 > contextSize) throw new Error("too long");
        if (query.includes("hang")) await new Promise(() => {});
        if (query.includes("crash")) process.abort();
        return query.filter((word) => document.includes(word)).length / Math.max(1, query.length);
      },
    };
  },
};

export async function getLlama() {
  return { loadModel: async () => model };
}
