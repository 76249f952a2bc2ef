import type { ScaleRow } from "../scale/rows.ts";

/** Milliseconds that a search may take before a user notices. */
const noticed = 100;

/** The largest size at which each engine is fast enough, and from which size memory-lancedb is faster. */
export function whereEnginesEnd(rows: readonly ScaleRow[]): string {
  const hybrid = rows.filter(({ metric }) => metric === "hybrid_p50_ms");
  const lines = [...Map.groupBy(hybrid, ({ engine }) => engine)].map(
    ([engine, own]) => `- \`${engine}\`: ${endOf(own.toSorted((left, right) => left.chunks - right.chunks))}.`,
  );
  return `### Where each engine ends, and when to move

Half of the hybrid searches took at most ${noticed} ms:

${lines.join("\n")}

${turn(hybrid)} Only memory-lancedb can keep its index in a bucket for several machines; each search then costs requests
([backends](backends.md)).`;
}

/** `rows`: of one engine, in the order of sizes. */
function endOf(rows: readonly ScaleRow[]): string {
  const count = (row: ScaleRow): string => row.chunks.toLocaleString("en");
  const over = rows.findIndex(({ value }) => value > noticed);
  const largest = rows.at(-1);
  const slow = rows[over];
  const fast = rows[over - 1];
  if (largest === undefined) return "not measured";
  if (slow === undefined) return `up to ${count(largest)} chunks, the largest size measured (${largest.value} ms)`;
  if (fast === undefined) return `not with ${count(slow)} chunks (${slow.value} ms)`;
  return `up to ${count(fast)} chunks (${fast.value} ms), not with ${count(slow)} (${slow.value} ms)`;
}

/** From which size on memory-lancedb is faster than every engine of memory-core. */
function turn(hybrid: readonly ScaleRow[]): string {
  const sizes = [...new Set(hybrid.map(({ chunks }) => chunks))].toSorted((left, right) => left - right);
  const isFaster = (chunks: number): boolean | undefined => {
    const here = hybrid.filter((row) => row.chunks === chunks);
    const lance = here.find(({ engine }) => engine === "memory-lancedb");
    const own = here.filter(({ engine }) => engine.startsWith("memslot"));
    if (lance === undefined || own.length === 0) return undefined;
    return own.every(({ value }) => lance.value < value);
  };
  const compared = sizes.filter((chunks) => isFaster(chunks) !== undefined);
  const last = compared.findLastIndex((chunks) => isFaster(chunks) === false);
  const from = compared[last + 1];
  const most = compared.at(-1);
  if (most === undefined) return "memory-core and memory-lancedb were not measured with the same number of chunks.";
  if (from === undefined)
    return `Up to ${most.toLocaleString("en")} chunks, memory-core is faster than memory-lancedb in a folder: on one machine there is no reason to move.`;
  return `From ${from.toLocaleString("en")} chunks on, memory-lancedb in a folder is faster than memory-core.`;
}
