import type { ScaleEngine } from "./engine.ts";
import { lancedb } from "./engines/lancedb.ts";
import { memslotEngines } from "./engines/memslot.ts";
import { openclawEngines } from "./engines/openclaw.ts";
import { plain } from "./engines/plain.ts";

/** All that can be measured, the baselines last. */
export function scaleEngines(): ScaleEngine[] {
  return [...memslotEngines(), lancedb, plain, ...openclawEngines];
}
