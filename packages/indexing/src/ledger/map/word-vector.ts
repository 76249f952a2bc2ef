import { scanTerms } from "../../text/words.ts";

const wordDimensions = 96;
const signs = 4;

/**
 * A text as a vector of its words: each word adds or takes 1 in a few places that its letters choose (feature hashing with
 * signs, Weinberger et al. 2009), a word that stands there again adds less. Unit length; all zero for a text without words.
 */
export function wordVector(text: string): Float32Array {
  const counts = new Map<string, number>();
  scanTerms(text, (term, _start, _end, kind) => {
    if (kind === "word" || kind === "pair") counts.set(term, (counts.get(term) ?? 0) + 1);
  });
  const vector = new Float32Array(wordDimensions);
  for (const [term, count] of counts) {
    const weight = 1 + Math.log(count);
    let hash = 2_166_136_261;
    for (let at = 0; at < term.length; at++) hash = Math.imul(hash ^ term.charCodeAt(at), 16_777_619);
    for (let sign = 0; sign < signs; sign++) {
      hash = Math.imul(hash ^ (hash >>> 15), 2_246_822_519) ^ (sign * 40_503);
      const at = (hash >>> 1) % wordDimensions;
      vector[at] = (vector[at] ?? 0) + ((hash & 1) === 0 ? weight : -weight);
    }
  }
  const length = Math.hypot(...vector);
  return length === 0 ? vector : vector.map((value) => value / length);
}
