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
  /** Weight of one deviation in keyword scores, at the default `vectorWeight` and `textWeight`. */
  weight: number;
}

/** Weight without a measurement: no tested provider loses more than a few results with it. */
export const unmeasuredWeight = 0.03;
/** Weight of a perfect provider. */
export const mostWeight = 0.15;

/** `vectorWeight` over `textWeight` by default: the ratio at which the measured weight counts as it is. */
const usualRatio = 0.7 / 0.3;
const lowScore = 0.02;
/** Smaller deviations are rounding: all chunks are alike, or there is only one. */
const leastDeviation = 0.001;
const usualDeviation = 0.1;

interface Finding {
  /** Cosine similarity, -1 to 1; undefined if the vector search did not give the chunk. */
  cosine: number | undefined;
  /** Keyword score, 0 to 1; undefined if the keyword search did not find it. */
  textScore: number | undefined;
  exact: boolean;
}

/**
 * Returns the function that scores a candidate, in (0, 1]. The order is that of `t + w × z`: t the keyword score, z the
 * standardised cosine, w the weight of the scale times the ratio of the configured shares to the default ones. A result
 * of vector search only scores `vector × cosine`, so thresholds mean the same for every provider; keywords raise it up
 * to `vector` and then fill the text share. Both pieces rise strictly. `lowest` is the lowest cosine that vector search
 * returned; candidates without a cosine get at most that.
 */
export function createFusion(
  shares: FusionWeights,
  { mean, deviation, weight }: MeaningScale,
  lowest: number,
): (finding: Finding) => number {
  const { vector, text } = shares;
  const worth = text === 0 ? Infinity : weight * (vector / text / usualRatio);
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

/** The scale of a query from its rows only: an answer for a shared audience must not depend on other chunks. */
export function scaleOfRows(rows: readonly { score: number }[]): MeaningScale {
  return { ...spread(rows.map(({ score }) => score)), weight: unmeasuredWeight };
}

/** Mean and standard deviation of cosines with a sample. Unit vectors. */
export function spreadOf(query: Float32Array, sample: readonly Float32Array[]): Omit<MeaningScale, "weight"> {
  return spread(sample.map((vector) => cosineOf(query, vector)));
}

export function cosineOf(one: Float32Array, other: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < one.length; index++) sum += (one[index] ?? 0) * (other[index] ?? 0);
  return sum;
}

export function spread(values: readonly number[]): { mean: number; deviation: number } {
  const count = Math.max(1, values.length);
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  return { mean, deviation: Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / count) };
}

function bend(score: number): number {
  return score >= lowScore ? score : lowScore * Math.exp(score / lowScore - 1);
}
