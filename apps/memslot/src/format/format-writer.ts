import type { WriterStatus } from "@memslot/core";
import { localTime } from "./local-time.ts";
import { phaseOf } from "../terminal/progress.ts";

/** The process that writes to the index: `process 1234 is indexing (cli): 120 of 500 files, since …`. */
export function describeWriter(writer: WriterStatus): string {
  const { pid, host, reason, since, completed, total } = writer;
  const { phase, unit } = phaseOf(writer, "indexing");
  const who = pid === process.pid ? "this process" : `process ${pid}${host === undefined ? "" : ` on ${host}`}`;
  const doing = phase === "indexing" ? `is indexing (${reason})` : `is ${phase} (${reason})`;
  const far = completed === undefined || total === undefined ? "" : `: ${completed} of ${total}${unit}`;
  return `${who} ${doing}${far}, since ${localTime(since)}`;
}
