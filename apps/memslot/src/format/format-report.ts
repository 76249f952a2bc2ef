import type { SearchLeg, SearchReport } from "@memslot/core";
import { describeFallback } from "./format-fallback.ts";

/** The search report for people (`--explain`): what each leg gave, what was left out, how long it took. */
export function formatReport(report: SearchReport): string {
  const { dropped } = report;
  const timings = Object.entries(report.timingsMs ?? {}).map(([step, ms]) => `${step} ${ms.toFixed(1)} ms`);
  const rows: [string, string | undefined][] = [
    ["Backend", report.backend],
    ["Mode", report.mode],
    ["State", report.reason === undefined ? report.state : `${report.state}: ${report.reason}`],
    ["Next step", report.action],
    ["Keyword leg", describeLeg(report.legs.keyword)],
    ["Vector leg", describeLeg(report.legs.vector)],
    ["Left out", `${dropped.minScore} by min score, ${dropped.source} by source, ${dropped.limit} by the limit`],
    ["Confidence", report.confidence?.toFixed(3)],
    ["Fallback", report.fallback && describeFallback(report.fallback)],
    ["Timings", timings.length === 0 ? undefined : timings.join(", ")],
  ];
  return rows
    .flatMap(([label, value]) => (value === undefined ? [] : [`${`${label}:`.padEnd(13)}${value}`]))
    .join("\n");
}

function describeLeg(leg: SearchLeg | undefined): string {
  return leg === undefined ? "not asked" : `${leg.candidates} candidates, ${leg.kept} in the answer`;
}
