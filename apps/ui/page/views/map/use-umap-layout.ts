import type { MemoryMap } from "@memslot/core";
import { useEffect, useState } from "preact/hooks";
import type { FinePoints, Places } from "./umap-layout.ts";

/** The map with a better layout, once it is computed. The last one stays until then. */
export function useFinerMap(map: MemoryMap): { shown: MemoryMap; isWorking: boolean } {
  const [finer, setFiner] = useState<{ of: MemoryMap; shown?: MemoryMap }>();
  useEffect(() => {
    const worker = new Worker(new URL("./umap-worker.ts", import.meta.url), { type: "module" });
    const done = (places?: Places): void => setFiner({ of: map, ...(places && { shown: { ...map, ...places } }) });
    worker.addEventListener("message", ({ data }: MessageEvent<Places | undefined>) => done(data));
    worker.addEventListener("error", () => done());
    // Signed bytes in Base64.
    const values = Int8Array.from(atob(map.fine ?? ""), (sign) => (sign.charCodeAt(0) << 24) >> 24);
    worker.postMessage({ values, dimensions: values.length / map.x.length, x: map.x, y: map.y } satisfies FinePoints);
    return () => worker.terminate();
  }, [map]);
  return { shown: finer?.shown ?? map, isWorking: finer?.of !== map };
}
