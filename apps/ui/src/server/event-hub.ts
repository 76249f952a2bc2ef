import type { ServerResponse } from "node:http";
import type { Memory, MemorySyncParams, SyncReport } from "@memslot/core";
import type { UiEvent } from "../api-types.ts";

const lookEveryMs = 1000;
const progressEveryMs = 200;
/** Unread by a page that is too slow: then its stream ends, and it reconnects. */
const mostWaitingBytes = 256 * 1024;

/** Sends changes of the memory to all open pages. Checks for them only while a page listens. */
export class EventHub {
  readonly #memory: Memory;
  /** The streams, and whether their pages are still signed in. */
  readonly #pages = new Map<ServerResponse, () => boolean>();
  #timer: NodeJS.Timeout | undefined;
  #lastStatus = "";
  #lastNotes = "";
  #checking: UiEvent | undefined;

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  /** `GET /api/events`: a stream of `UiEvent`, which ends with the server or the token of its page. */
  stream(response: ServerResponse, signedIn: () => boolean): void {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    response.once("close", () => {
      this.#pages.delete(response);
      if (this.#pages.size === 0) this.close();
    });
    const now = this.#memory.status();
    if (this.#pages.size === 0) [this.#lastStatus, this.#lastNotes] = [JSON.stringify(now), notesMark(now)];
    this.#pages.set(response, signedIn);
    for (const event of [{ type: "status", status: now } as const, this.#checking])
      if (event !== undefined) this.#write(response, event);
    this.#timer ??= setInterval(() => this.#look(), lookEveryMs).unref();
  }

  /** Whether the files are being checked by a sync that pages see. */
  isChecking(): boolean {
    return this.#checking !== undefined;
  }

  /** Syncs after `begin`. Pages see that it has begun, its progress a few times a second, and its end. */
  async sync(params: MemorySyncParams, begin?: Promise<unknown>): Promise<SyncReport | undefined> {
    let last = 0;
    this.#tell({ type: "sync", progress: undefined, done: false });
    try {
      await begin;
      return await this.#memory.sync({
        ...params,
        progress: (progress) => {
          const now = performance.now();
          if (now - last < progressEveryMs) return;
          last = now;
          this.#tell({ type: "sync", progress, done: false });
        },
      });
    } finally {
      this.#tell({ type: "sync", progress: undefined, done: true });
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    for (const response of this.#pages.keys()) response.end();
    this.#pages.clear();
  }

  #tell(event: UiEvent): void {
    if (event.type === "sync") this.#checking = event.done ? undefined : event;
    for (const response of this.#pages.keys()) this.#write(response, event);
  }

  #write(response: ServerResponse, event: UiEvent): void {
    if (response.writableLength > mostWaitingBytes) response.destroy();
    // A write to an ended or destroyed response is an error.
    if (!response.writableEnded && !response.destroyed) response.write(`data: ${JSON.stringify(event)}\n\n`);
  }

  #look(): void {
    for (const [response, signedIn] of this.#pages) if (!signedIn()) response.end();
    const status = this.#memory.status();
    const text = JSON.stringify(status);
    if (text === this.#lastStatus) return;
    this.#lastStatus = text;
    this.#tell({ type: "status", status });
    const notes = notesMark(status);
    if (notes === this.#lastNotes) return;
    this.#lastNotes = notes;
    this.#tell({ type: "changed" });
  }
}

/** Changes with the content of the index. */
function notesMark({ files, chunks, generation, lastSync }: ReturnType<Memory["status"]>): string {
  const report = lastSync?.report;
  const hasNews = report !== undefined && report.added + report.changed + report.removed > 0;
  return JSON.stringify([files, chunks, generation?.id, hasNews ? lastSync?.finishedAt : undefined]);
}
