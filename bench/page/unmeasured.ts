import type { ScaleReport } from "../scale/rows.ts";
import type { BenchResults } from "./results.ts";

const pageSizes = [1000, 10_000, 100_000, 1_000_000];

/** What a reader could miss on the page, and what was tried and failed. */
export function unmeasured(results: BenchResults, scale: ScaleReport): string {
  const measured = new Set(scale.rows.map(({ chunks }) => chunks));
  const sizes = pageSizes.filter((size) => !measured.has(size)).map((size) => size.toLocaleString("en"));
  const steps = (["commands", "in-process"] as const).filter((name) => results[name] === undefined);
  const lines = [
    ...(sizes.length > 0 ? [`${sizes.join(", ")} chunks: ${command(sizes)}.`] : []),
    ...steps.map((name) => `The part \`${name}\`: \`pnpm bench page --again ${name}\`.`),
    ...missingEngines(scale),
    ...scale.failures.map(
      ({ chunks, engine, reason }) =>
        `\`${engine}\` with ${chunks.toLocaleString("en")} chunks: ${reason.split("\n")[0]?.slice(0, 200)}.`,
    ),
    "OpenClaw and qmd with models: no model was available. `pnpm bench embeddings --openclaw` compares requests with an embedding server.",
    "A bucket: see [its cost](growing.md#cost).",
    "Questions that depend on the current date. `pnpm bench retrieval` has them.",
    "Windows and macOS.",
  ];
  return `## What was not measured\n\n${lines.map((line) => `- ${line}`).join("\n")}`;
}

/** What was measured with some other number of chunks, and neither measured nor tried with this one. */
function missingEngines({ rows, failures }: ScaleReport): string[] {
  const engines = [...new Set(rows.map(({ engine }) => engine))];
  const sizes = [...new Set(rows.map(({ chunks }) => chunks))].toSorted((left, right) => left - right);
  return sizes.flatMap((size) => {
    const missing = engines.filter(
      (engine) => ![...rows, ...failures].some((row) => row.chunks === size && row.engine === engine),
    );
    const names = missing.map((engine) => `\`${engine}\``).join(", ");
    return missing.length === 0 ? [] : [`${names} with ${size.toLocaleString("en")} chunks.`];
  });
}

function command(sizes: readonly string[]): string {
  return `\`pnpm bench page --chunks ${sizes.map((size) => size.replaceAll(",", "")).join(",")}\``;
}
