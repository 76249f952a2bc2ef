import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

/** What a system does that is asked for watches. */
export interface SystemFault {
  /** What it answers, once it has given so many. */
  code?: string;
  after?: number;
  /** What it was asked, by the name of the call; absent: `watch`. */
  asked?: string;
  /** Each watch breaks with the first change that it tells of. */
  breaks?: boolean;
}

/** To be called in a thread: watches as the real one does, in a system that has a fault. */
export async function watchWith({ code, after = 0, asked = "watch", breaks = false }: SystemFault): Promise<void> {
  const { watch } = fs;
  let calls = 0;
  fs.watch = ((folder: string, options: object, listener: fs.WatchListener<string>) => {
    if (code !== undefined && calls++ >= after)
      throw Object.assign(new Error(`${code}: of the test, ${asked} '${folder}'`), { code });
    const watcher = watch(folder, options, listener);
    const error = Object.assign(new Error("EIO: of the test"), { code: "EIO" });
    if (breaks) watcher.once("change", () => watcher.emit("error", error));
    return watcher;
  }) as typeof fs.watch;
  syncBuiltinESMExports();
  await import("../watch-thread.ts");
}
