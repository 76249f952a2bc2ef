import { median } from "../support/table.ts";

/** In the order of the table. Times in milliseconds, memory in megabytes, disk in kilobytes. */
export const scaleMetrics = [
  "vector_p50_ms",
  "vector_cpu_ms",
  "recall_at_10",
  "hybrid_p50_ms",
  "rss_mb",
  "disk_kb_per_chunk",
  "ratio_vs_a2",
  "ratio_vs_a",
] as const;

export type ScaleMetric = (typeof scaleMetrics)[number];

export interface ScaleRow {
  chunks: number;
  engine: string;
  metric: ScaleMetric;
  value: number;
}

export interface ScaleReport {
  rows: ScaleRow[];
  /** What was to be measured and could not be. */
  failures: { chunks: number; engine: string; reason: string }[];
}

/** Everything that one engine has answered with one number of chunks. */
export interface EngineMeasure {
  wallMs: number[];
  cpuMs: number[];
  recall: number[];
  hybridMs: number[];
  rssMegabytes: number;
}

/**
 * The rows of one number of chunks. A ratio is the processor time of a vector query of the baseline by that of the engine:
 * wall time says more about who else is at work on the machine. It is absent where the baseline was not measured.
 */
export function rowsOf(
  chunks: number,
  measures: ReadonlyMap<string, EngineMeasure>,
  kilobytesPerChunk: ReadonlyMap<string, number>,
): ScaleRow[] {
  const cpuOf = (engine: string): number => median(measures.get(engine)?.cpuMs ?? []);
  return [...measures].flatMap(([engine, measure]) => {
    const values: Record<ScaleMetric, number> = {
      vector_p50_ms: median(measure.wallMs),
      vector_cpu_ms: cpuOf(engine),
      recall_at_10: measure.recall.reduce((sum, value) => sum + value, 0) / measure.recall.length,
      hybrid_p50_ms: median(measure.hybridMs),
      rss_mb: measure.rssMegabytes,
      disk_kb_per_chunk: kilobytesPerChunk.get(engine) ?? Number.NaN,
      ratio_vs_a2: cpuOf("A2") / cpuOf(engine),
      ratio_vs_a: cpuOf("A") / cpuOf(engine),
    };
    return scaleMetrics
      .map((metric) => ({ chunks, engine, metric, value: rounded(values[metric]) }))
      .filter(({ value }) => Number.isFinite(value));
  });
}

/** Three digits that count. */
function rounded(value: number): number {
  return Number(value.toPrecision(value >= 1000 ? Math.ceil(Math.log10(value)) : 3));
}
