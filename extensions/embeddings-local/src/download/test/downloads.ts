import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { SyncProgress } from "@memslot/core";
import { download, type DownloadRequest } from "../download.ts";
import type { Hub } from "@memslot/fakes/model-hub";
import { tempFolder, tinyModel } from "../../test/lab.ts";

/** A model of 1.5 megabytes. */
export function modelBytes(): Buffer {
  return readFileSync(tinyModel({ contextLength: 4096 }));
}

export interface Target {
  path: string;
  /** Bytes of the part that is there. */
  partSize(): number;
  /** Downloads to it; limits are short. */
  fetch(hub: Pick<Hub, "url">, request?: Partial<DownloadRequest>): Promise<void>;
  updates: SyncProgress[];
  controller: AbortController;
}

export function targetOf(folder: string = tempFolder()): Target {
  const path = join(folder, "models", "model.gguf");
  const updates: SyncProgress[] = [];
  const controller = new AbortController();
  return {
    path,
    updates,
    controller,
    partSize: () => statSync(`${path}.part`, { throwIfNoEntry: false })?.size ?? 0,
    fetch: (hub, request = {}) =>
      download({
        url: urlOf(hub),
        path,
        fileName: "model.gguf",
        signal: controller.signal,
        progress: (update) => void updates.push(update),
        limits: { connectMs: 5000, stallMs: 5000, pollMs: 10 },
        ...request,
      }),
  };
}

export function urlOf({ url }: Pick<Hub, "url">): string {
  return `${url}/user/model/resolve/main/model.gguf`;
}
