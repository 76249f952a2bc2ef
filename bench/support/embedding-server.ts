import { startEmbeddingApi } from "@memslot/fakes/embedding-api";

// A process of its own, started by `start-embedding-server.ts`: what it uses is not counted to those who ask it.
const api = await startEmbeddingApi({ dimensions: 768, latencyMs: 20, embed: hashedWords });
process.on("message", (message) => {
  process.send?.(api.stats());
  if (message === "reset") api.reset();
});
process.on("disconnect", () => void api.close());
process.send?.(api.url);

/** Words counted into places by their hash: some microseconds a text, where a model would take milliseconds. */
function hashedWords(text: string, { dimensions }: { dimensions: number }): Float32Array {
  const vector = new Float32Array(dimensions);
  let hash = 0;
  for (let index = 0; index <= text.length; index++) {
    // Lower case for Latin letters; everything up to "/" (spaces, most punctuation) ends a word.
    const code = (index < text.length ? text.charCodeAt(index) : 32) | 32;
    if (code > 47) hash = Math.imul(hash ^ code, 0x0100_0193);
    else if (hash !== 0) {
      const place = (hash >>> 0) % dimensions;
      vector[place] = (vector[place] ?? 0) + (hash & 0x4000_0000 ? 1 : -1);
      hash = 0;
    }
  }
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  if (length === 0) vector[0] = 1;
  return length === 0 ? vector : vector.map((value) => value / length);
}
