import type { VNode } from "preact";
import type { RankChange } from "./rank-changes.ts";

/** Drawn ranks; the table has the rest. */
const most = 15;
const rowHeight = 20;
const width = 320;
const [left, right] = [24, width - 24];

/** The ranks of the notes on both sides, with a line between them. */
export function Slopes({ rows }: { rows: readonly RankChange[] }): VNode | null {
  const drawn = rows.filter(({ from, to }) => (from ?? 0) <= most && (to ?? 0) <= most);
  const last = Math.max(0, ...drawn.flatMap(({ from = 0, to = 0 }) => [from, to]));
  if (last === 0) return null;
  const y = (place: number): number => (place - 0.5) * rowHeight;
  return (
    <svg class="slopes" viewBox={`0 0 ${width} ${last * rowHeight}`} width={width} aria-hidden="true">
      {drawn.map(({ key, from, to }) => (
        <g key={key} class={kindOf(from, to)}>
          {from !== undefined && to !== undefined && <line x1={left} y1={y(from)} x2={right} y2={y(to)} />}
          {from !== undefined && to === undefined && <line x1={left} y1={y(from)} x2={left + 40} y2={y(from)} />}
          {from === undefined && to !== undefined && <line x1={right - 40} y1={y(to)} x2={right} y2={y(to)} />}
          {from !== undefined && (
            <text x={left - 6} y={y(from) + 4} text-anchor="end">
              {from}
            </text>
          )}
          {to !== undefined && (
            <text x={right + 6} y={y(to) + 4}>
              {to}
            </text>
          )}
        </g>
      ))}
    </svg>
  );
}

function kindOf(from: number | undefined, to: number | undefined): string {
  if (from === undefined) return "new";
  if (to === undefined) return "gone";
  return to < from ? "up" : to > from ? "down" : "same";
}
