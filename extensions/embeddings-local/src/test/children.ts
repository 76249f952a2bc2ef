import type { ChildProcess } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { onTestFinished } from "vitest";
import type { FromChild, ToChild } from "../protocol.ts";

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

/**
 * As `watchChildren`, where the first `count` processes die in the middle of a batch: each is handed the first three texts
 * of it and is killed at their last vector, so that none can be done, however fast it is.
 */
export function killInBatch(count: number): ChildProcess[] {
  const handed = 3;
  const due = new Map<ChildProcess, number>();
  return watchChildren((child, { type }) => {
    if (type === "loaded" && due.size < count) {
      due.set(child, handed);
      handOnly(child, handed);
    }
    if (type !== "vector" || !due.has(child)) return;
    const left = (due.get(child) ?? 0) - 1;
    due.set(child, left);
    if (left === 0) child.kill("SIGKILL");
  });
}

function handOnly(child: ChildProcess, count: number): void {
  const send = child.send.bind(child);
  child.send = (message) => {
    const request = message as ToChild;
    return send(request.type === "embed" ? { ...request, texts: request.texts.slice(0, count) } : request, () => {});
  };
}
