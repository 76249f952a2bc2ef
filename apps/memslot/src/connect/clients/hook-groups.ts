import type { JsonPut } from "../edits/json-edit.ts";
import { isOwnHook } from "../own-handler.ts";

/** A hook of one event: what it is registered under, and how long it may take in the unit of the client. */
export interface HookEvent {
  readonly event: string;
  readonly timeout: number;
  readonly matcher?: string | undefined;
}

/** Hooks in the shape that Claude Code began with: groups of handlers by event. */
export function hookGroups(events: readonly HookEvent[], command: string, more: object = {}): JsonPut[] {
  return events.map(({ event, timeout, matcher }) => ({
    list: ["hooks", event],
    item: { ...(matcher !== undefined && { matcher }), hooks: [{ ...more, type: "command", command, timeout }] },
    isOwn: isOwnHook,
  }));
}

/** Hooks as lists of handlers by event. */
export function hookHandlers(events: readonly string[], handler: object): JsonPut[] {
  return events.map((event) => ({ list: ["hooks", event], item: handler, isOwn: isOwnHook }));
}
