import { init, type EChartsOption } from "echarts";
import type { ScaleMetric, ScaleRow } from "../scale/rows.ts";
import type { CommandFigures } from "./results.ts";

const width = 760;
const height = 420;
const frame = { left: 70, right: 30, top: 80, bottom: 50 };

/** How one metric grows with the number of chunks, a line for each engine, both axes logarithmic. */
export function drawScale(title: string, unit: string, metric: ScaleMetric, rows: readonly ScaleRow[]): string {
  const engines = Map.groupBy(
    rows.filter((row) => row.metric === metric),
    ({ engine }) => engine,
  );
  return draw({
    title: titled(title),
    legend: { top: 36, itemGap: 24, data: [...engines.keys()] },
    grid: frame,
    xAxis: {
      type: "log",
      name: "chunks",
      nameLocation: "middle",
      nameGap: 30,
      min: 1000,
      axisLabel: { formatter: short },
    },
    yAxis: { type: "log", name: unit, axisLabel: { formatter: short } },
    series: [...engines].map(([engine, own]) => ({
      type: "line",
      name: engine,
      symbolSize: 7,
      data: own.toSorted((left, right) => left.chunks - right.chunks).map(({ chunks, value }) => [chunks, value]),
    })),
  });
}

/** Seconds of whole commands, a group of bars for each command. */
export function drawCommands({ programs, files }: CommandFigures): string {
  const commands = ["first", "unchanged", "search"] as const;
  return draw({
    title: titled(`Seconds of processor time, ${files} notes, each command a fresh process`),
    legend: { top: 36, itemGap: 24, data: programs.map(({ name }) => name) },
    grid: frame,
    xAxis: { type: "category", data: ["first index", "nothing to index", "search"] },
    // Bars begin at the bottom; without this those below one second would hang.
    yAxis: { type: "log", name: "s", min: 0.01, startValue: 0.01, axisLabel: { formatter: short } },
    series: programs.map((program) => ({
      type: "bar",
      name: program.name,
      label: { show: true, position: "top" },
      data: commands.map((command) => program[command].cpu),
    })),
  });
}

function draw(option: EChartsOption): string {
  const chart = init(undefined, undefined, { renderer: "svg", ssr: true, width, height });
  try {
    chart.setOption({ animation: false, backgroundColor: "#ffffff", ...option });
    return `${withoutRunningNumbers(chart.renderToSVGString())}\n`;
  } finally {
    chart.dispose();
  }
}

/**
 * The styles for a mouse, which no picture in a page answers, and the ids of what is cut off have a number that goes up
 * with each drawing of a process.
 */
function withoutRunningNumbers(svg: string): string {
  return svg
    .replaceAll(/<style[\s\S]*?<\/style>\s*/g, "")
    .replaceAll(/ class="zr\d+-cls-\d+"/g, "")
    .replaceAll(/\bzr\d+-/g, "zr-");
}

function titled(text: string): NonNullable<EChartsOption["title"]> {
  return { text, left: "center", textStyle: { fontSize: 15 } };
}

function short(value: number): string {
  if (value >= 1_000_000) return `${value / 1_000_000}M`;
  return value >= 1000 ? `${value / 1000}k` : String(value);
}
