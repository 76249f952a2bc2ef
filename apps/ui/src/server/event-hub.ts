import { setTimeout as sleep } from "node:timers/promises";
import type { Memory, MemorySyncParams, SyncReport } from "@memslot/core";
import type { UiEvent } from "../api-types.ts";

/** Receives each event; false: closed or too slow, and removed. */
type Listener = (event: UiEvent) => boolean;

const lookEveryMs = 1000;

/** Sends changes to all open pages. Checks only while a page listens. */
export interface EventHub {
  listen(listener: Listener): () => void;
  tell(event: UiEvent): void;
  /** Whether the files are being checked by a sync that pages see. */
  isChecking(): boolean;
  close(): void;
}

/** `status` returns the current state; `notesMark` decides whether the notes changed. */
export function createEventHub(status: () => Extract<UiEvent, { type: "status" }>["status"]): EventHub {
  const listeners = new Set<Listener>();
  let timer: NodeJS.Timeout | undefined;
  let lastStatus = "";
  let lastNotes = "";
  let checking: UiEvent | undefined;

  function tell(event: UiEvent): void {
    if (event.type === "sync") checking = event.done ? undefined : event;
    for (const listener of listeners) if (!listener(event)) listeners.delete(listener);
    if (listeners.size === 0) stop();
  }

  function look(): void {
    const now = status();
    const text = JSON.stringify(now);
    if (text === lastStatus) return;
    lastStatus = text;
    tell({ type: "status", status: now });
    const notes = notesMark(now);
    if (notes === lastNotes) return;
    lastNotes = notes;
    tell({ type: "changed" });
  }

  function stop(): void {
    clearInterval(timer);
    timer = undefined;
  }

  return {
    listen(listener) {
      const now = status();
      if (listeners.size === 0) {
        lastStatus = JSON.stringify(now);
        lastNotes = notesMark(now);
      }
      listeners.add(listener);
      listener({ type: "status", status: now });
      if (checking !== undefined) listener(checking);
      timer ??= setInterval(look, lookEveryMs).unref();
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) stop();
      };
    },
    tell,
    isChecking: () => checking !== undefined,
    close: () => {
      stop();
      listeners.clear();
    },
  };
}

function notesMark({ files, chunks, generation, lastSync }: ReturnType<Parameters<typeof createEventHub>[0]>): string {
  const report = lastSync?.report;
  const hasNews = report !== undefined && report.added + report.changed + report.removed > 0;
  return JSON.stringify([files, chunks, generation?.id, hasNews ? lastSync?.finishedAt : undefined]);
}

const progressEveryMs = 200;

/** Syncs after a while. Pages see that it has begun, its progress a few times a second, and its end. */
export async function syncInView(
  hub: EventHub,
  memory: Memory,
  params: MemorySyncParams,
  afterMs = 0,
): Promise<SyncReport | undefined> {
  let last = 0;
  hub.tell({ type: "sync", progress: undefined, done: false });
  try {
    await sleep(afterMs, undefined, { ref: false, signal: params.signal });
    return await memory.sync({
      ...params,
      progress(update) {
        const now = performance.now();
        if (now - last < progressEveryMs) return;
        last = now;
        hub.tell({ type: "sync", progress: update, done: false });
      },
    });
  } finally {
    hub.tell({ type: "sync", progress: undefined, done: true });
  }
}
