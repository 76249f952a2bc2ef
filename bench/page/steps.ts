import { measureScale } from "../scale/scale.ts";
import { onThisMachine } from "./machine.ts";
import { type BenchResults, readMeasured, type StepName, writeMeasured } from "./results.ts";

export interface StepOptions {
  /** Generated notes. */
  files: number;
  sizes: readonly number[];
}

/** Everything that the page is made from, in the order of measuring. */
export function stepNames(sizes: readonly number[]): StepName[] {
  return [...sizes.map((size) => `scale-${size}` as const)];
}

/** Measures a step, or takes what this clone has measured of it before, unless it is to be measured `again`. */
export async function runStep(
  name: StepName,
  options: StepOptions,
  again: boolean,
): Promise<NonNullable<BenchResults[StepName]>> {
  const before = again ? undefined : readMeasured(name);
  if (before !== undefined) return before;
  console.error(`measuring ${name} …`);
  const step = await onThisMachine(() => measure(name, options));
  writeMeasured(name, step as NonNullable<BenchResults[StepName]>);
  return step as NonNullable<BenchResults[StepName]>;
}

async function measure(name: StepName, _options: StepOptions): Promise<unknown> {
  return await measureScale({ sizes: [Number(name.slice("scale-".length))] });
}
