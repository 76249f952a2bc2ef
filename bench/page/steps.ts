import { measureScale } from "../scale/scale.ts";
import { measureCommands } from "./commands.ts";
import { measureInProcess } from "./in-process.ts";
import { onThisMachine } from "./machine.ts";
import { type BenchResults, readMeasured, type StepName, writeMeasured } from "./results.ts";

export interface StepOptions {
  /** Generated notes. */
  files: number;
  sizes: readonly number[];
  /** Engines of `scale`. Absent: all of them. */
  engines?: readonly string[] | undefined;
}

type Step = NonNullable<BenchResults[StepName]>;

/** Everything that the page is made from, in the order of measuring. */
export function stepNames(sizes: readonly number[]): StepName[] {
  return ["commands", "in-process", ...sizes.map((size) => `scale-${size}` as const)];
}

/** Measures a step, or takes what this clone has measured of it before, unless it is to be measured `again`. */
export async function runStep(name: StepName, options: StepOptions, again: boolean): Promise<Step> {
  const before = again ? undefined : readMeasured(name);
  if (before !== undefined) return before;
  console.error(`measuring ${name} …`);
  const step = (await onThisMachine(async () => await measure(name, options))) as Step;
  writeMeasured(name, step);
  return step;
}

async function measure(name: StepName, { files, engines }: StepOptions): Promise<Step["figures"]> {
  if (name === "commands") return await measureCommands(files);
  if (name === "in-process") return await measureInProcess(files);
  return await measureScale({ sizes: [Number(name.slice("scale-".length))], engines });
}
