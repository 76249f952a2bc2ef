/** The shares of the two legs in a score, together 1. */
export interface FusionWeights {
  vector: number;
  text: number;
}

/** How the cosines of one question are read. */
export interface MeaningScale {
  /** Mean and standard deviation of the cosine similarity of the question with the chunks of the space. */
  mean: number;
  deviation: number;
  /** What one deviation is worth, in keyword scores: `vectorWeight` and `textWeight` being as they are by default. */
  weight: number;
}

/** What a deviation is worth where nobody has measured it: no provider that was tried costs more than a few results. */
export const unmeasuredWeight = 0.03;
/** The most that a deviation is worth, of a provider that always finds what belongs together. */
export const mostWeight = 0.15;

/** `vectorWeight` over `textWeight` by default: the ratio at which the measured weight counts as it is. */
const usualRatio = 0.7 / 0.3;
/** Below it a score bends, so that it stays above 0 however far away a chunk is. */
const lowScore = 0.02;
/** A smaller one is a rounding: the chunks are all alike, or there is only one. Then it counts as usual ones do. */
const leastDeviation = 0.001;
const usualDeviation = 0.1;

/** What is known of one candidate. */
interface Finding {
  /** Cosine similarity, -1 to 1; undefined where the vector leg did not give the chunk. */
  cosine: number | undefined;
  /** Keyword score, 0 to 1; undefined where the keyword leg did not find it. */
  textScore: number | undefined;
  /** It holds the query exactly: nothing that its vector says moves it down. */
  exact: boolean;
}

/**
 * Gives the score of a candidate, over 0 and at most 1. The order is that of `t + w × z`: t the keyword score, z the cosine
 * standardised over the space, w the weight of the scale times the configured ratio of the shares over the usual one. What
 * only the vector leg has found scores `vector × cosine`, as it always did, so that a threshold means the same with every
 * provider; words raise that by as many cosines as they are worth, up to `vector`, and beyond it they fill the share of the
 * text. Without room for ties: both pieces rise strictly.
 *
 * `lowest` is the lowest cosine that the vector leg gave: what it did not give is not nearer than that, nor than usual.
 */
export function createFusion(
  shares: FusionWeights,
  { mean, deviation, weight }: MeaningScale,
  lowest: number,
): (finding: Finding) => number {
  const { vector, text } = shares;
  const worth = text === 0 ? Infinity : weight * (vector / text / usualRatio);
  /** Keyword scores that one unit of cosine is worth. */
  const rate = worth / (deviation < leastDeviation ? usualDeviation : deviation);
  const unseen = Math.min(mean, lowest);
  return ({ cosine, textScore = 0, exact }) => {
    const given = cosine ?? unseen;
    const near = exact ? Math.max(given, mean) : given;
    const score = bend(scoreOf(near, textScore));
    return exact ? Math.max(score, textScore) : score;
  };

  function scoreOf(cosine: number, textScore: number): number {
    if (rate === Infinity) return vector * cosine;
    if (rate === 0) return textScore > 0 ? vector + text * textScore : vector * cosine;
    const beyond = textScore + rate * (cosine - 1);
    return beyond > 0 ? vector + text * beyond : vector * (cosine + textScore / rate);
  }
}

/** The scale of a question where only the rows that it has found are known: of nothing else may depend what others see. */
export function scaleOfRows(rows: readonly { score: number }[]): MeaningScale {
  return { ...spread(rows.map(({ score }) => score)), weight: unmeasuredWeight };
}

/** Mean and standard deviation of the cosines of a question with a sample of the space. All vectors are of unit length. */
export function spreadOf(query: Float32Array, sample: readonly Float32Array[]): Omit<MeaningScale, "weight"> {
  return spread(sample.map((vector) => cosineOf(query, vector)));
}

/** Of two vectors of unit length. */
export function cosineOf(one: Float32Array, other: Float32Array): number {
  let sum = 0;
  // An iterator would take ten times as long.
  for (let index = 0; index < one.length; index++) sum += (one[index] ?? 0) * (other[index] ?? 0);
  return sum;
}

/** Mean and standard deviation. */
export function spread(values: readonly number[]): { mean: number; deviation: number } {
  const count = Math.max(1, values.length);
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  return { mean, deviation: Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / count) };
}

function bend(score: number): number {
  return score >= lowScore ? score : lowScore * Math.exp(score / lowScore - 1);
}
