import type { SearchLeg, SearchReport } from "@memslot/core";
import { describeFallback } from "./format-fallback.ts";
import { describeFilters } from "./format-filters.ts";
import { describeRerank } from "./format-rerank.ts";

/** The search report for people (`--explain`): what each leg gave, what was left out, how long it took. */
export function formatReport(report: SearchReport): string {
  const { dropped } = report;
  const timings = Object.entries(report.timingsMs ?? {}).map(([step, ms]) => `${step} ${ms.toFixed(1)} ms`);
  const rows: [string, string | undefined][] = [
    ["Backend", report.backend],
    ["Mode", report.mode],
    ["State", report.reason === undefined ? report.state : `${report.state}: ${report.reason}`],
    ["Next step", report.action],
    ["Read as", report.filters && describeFilters(report.filters)],
    ["Keyword leg", describeLeg(report.legs.keyword)],
    ["Vector leg", describeLeg(report.legs.vector)],
    ["Reranker", report.rerank && describeRerank(report.rerank)],
    [
      "Left out",
      `${dropped.minScore} by min score, ${dropped.source} by source, ${dropped.limit} by the limit, ${dropped.tokens ?? 0} for want of room`,
    ],
    ["Confidence", describeMatch(report)],
    ["Meaning", report.meaning && describeScale(report.meaning)],
    ["Fallback", report.fallback && describeFallback(report.fallback)],
    ["Timings", timings.length === 0 ? undefined : timings.join(", ")],
    ["Score", "0 to 1, how well a passage answers; no probability, and comparable within one answer only"],
    ["Text score", "0 to 1, what its words and names give, against a text that is the query itself"],
    ["Vector score", "the cosine of its meaning and that of the query"],
  ];
  return rows
    .flatMap(([label, value]) => (value === undefined ? [] : [`${`${label}:`.padEnd(14)}${value}`]))
    .join("\n");
}

function describeScale({ weight, mean, deviation }: NonNullable<SearchReport["meaning"]>): string {
  return `${deviation.toFixed(3)} of similarity above the usual ${mean.toFixed(3)} is worth ${weight.toFixed(3)} of words`;
}

function describeLeg(leg: SearchLeg | undefined): string {
  return leg === undefined ? "not asked" : `${leg.candidates} candidates, ${leg.kept} in the answer`;
}

function describeMatch({ confidence, match }: SearchReport): string | undefined {
  const value = confidence?.toFixed(3);
  return match === undefined ? value : [`${match.level} (${value})`, match.reason].filter(Boolean).join(": ");
}
