import path from "node:path";
import { type MessagePort, parentPort } from "node:worker_threads";
import { markdownEndings } from "../scan/folder-rules.ts";
import { countEvent, type FolderNews, FolderWatches } from "./folder-watches.ts";
import { createWatchScope, type WatchRoot } from "./watch-scope.ts";

export interface WatchOrder {
  /** Sends events and receives requests. Closing it ends the watch. */
  port: MessagePort;
  roots: readonly WatchRoot[];
  recursive: boolean;
  maxFiles: number;
  sentinelDir?: string | undefined;
}

export interface NewsOrder {
  add: readonly string[];
  drop: readonly string[];
}

export type WatchMessage =
  | { kind: "ready" | "changed"; folders: number }
  | { kind: "failed"; message: string }
  | { kind: "tooMany" }
  | { kind: "news"; news: FolderNews }
  | { kind: "rules" };

// Polling would read every folder repeatedly.
process.env["CHOKIDAR_USEPOLLING"] = "false";
const { watch } = await import("chokidar");

parentPort?.on("message", watchFor);

function watchFor({ port, roots, recursive, maxFiles, sentinelDir }: WatchOrder): void {
  const scope = createWatchScope(roots);
  const folderWatches =
    sentinelDir === undefined
      ? undefined
      : new FolderWatches({
          roots: roots.map((root) => root.path),
          endings: [...markdownEndings, ...roots.flatMap(({ extension }) => extension ?? [])],
          sentinelDir,
        });
  let files = 0;
  let folders = 0;
  let isReady = false;
  let isOver = false;
  const send = (message: WatchMessage): void => port.postMessage(message);

  /** Each file is examined once at the start; folders cost a watch permanently. */
  function count(): void {
    if (isOver || files + folders <= maxFiles) return;
    isOver = true;
    send({ kind: "tooMany" });
  }

  const watcher = watch(
    roots.map((root) => root.path),
    {
      backend: recursive ? "native-recursive" : "native",
      // Writes are debounced elsewhere.
      atomic: false,
      followSymlinks: false,
      ignorePermissionErrors: true,
      ignored(file, stats) {
        const found = scope.lookAt(file, stats);
        if (found === "reported" && !isReady) {
          files += 1;
          count();
        }
        return found !== "watched";
      },
    },
  )
    .on("raw", (_kind, name, details) => {
      countEvent();
      const { watchedPath } = details as { watchedPath: string };
      if (scope.changesRules(watchedPath, name)) send({ kind: "rules" });
      else if (scope.concerns(watchedPath, name)) send({ kind: "changed", folders });
    })
    .on("all", (kind, folder) => {
      // Watch it before the first request.
      if (kind === "addDir") folderWatches?.place(path.normalize(folder));
      if (kind === "addDir") folders += 1;
      if (kind === "unlinkDir") folders -= 1;
      if (kind === "addDir") count();
      if (isReady) send({ kind: "changed", folders });
    })
    .on("ready", () => {
      isReady = true;
      send({ kind: "ready", folders });
    })
    .on("error", (error) => send({ kind: "failed", message: error instanceof Error ? error.message : String(error) }));

  port.on("message", ({ add, drop }: NewsOrder) => {
    for (const folder of drop) folderWatches?.remove(folder);
    for (const folder of add) folderWatches?.place(folder);
    folderWatches?.ask((news) => send({ kind: "news", news }));
  });
  port.on("close", () => {
    folderWatches?.close();
    void watcher.close();
  });
}
