import type { ChildProcess } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { onTestFinished } from "vitest";
import type { FromChild } from "../protocol.ts";

/** The processes that this one starts from now on, in the order of their start. */
export function watchChildren(onMessage?: (child: ChildProcess, message: FromChild) => void): ChildProcess[] {
  const children: ChildProcess[] = [];
  const take = (event: unknown): void => {
    const { process } = event as { process: ChildProcess };
    children.push(process);
    process.on("message", (message) => onMessage?.(process, message as FromChild));
  };
  subscribe("child_process", take);
  onTestFinished(() => void unsubscribe("child_process", take));
  return children;
}
