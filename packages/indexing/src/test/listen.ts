import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { CallMessages } from "@memslot/core";
import { onTestFinished } from "vitest";

/** Calls reported at their end, until the test ends. */
export function listen<Name extends keyof CallMessages>(name: Name): CallMessages[Name][] {
  const seen: CallMessages[Name][] = [];
  const channel = `tracing:memslot:${name}:asyncEnd`;
  const take = (message: unknown): void => void seen.push(message as CallMessages[Name]);
  subscribe(channel, take);
  onTestFinished(() => void unsubscribe(channel, take));
  return seen;
}
