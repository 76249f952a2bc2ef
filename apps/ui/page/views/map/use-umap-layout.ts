import type { MemoryMap } from "@memslot/core";
import { useEffect, useState } from "preact/hooks";
import { ask, pathWith, told } from "../../state/api-client.ts";
import type { FinePoints, Places } from "./umap-layout.ts";

const dimensions = 16;

/** The map, and later a refined layout of it. `isWorking`: it is being computed. */
export function useFinerMap(map: MemoryMap, asked: string): { finer: MemoryMap | undefined; isWorking: boolean } {
  const [state, setState] = useState<{ of?: MemoryMap; finer?: MemoryMap | undefined; isWorking: boolean }>({
    isWorking: false,
  });
  useEffect(() => {
    const controller = new AbortController();
    setState({ of: map, isWorking: true });
    void finerMap(asked, controller.signal).then((finer) => {
      if (!controller.signal.aborted) setState({ of: map, finer, isWorking: false });
    });
    return () => controller.abort();
  }, [map, asked]);
  return state.of === map ? { finer: state.finer, isWorking: state.isWorking } : { finer: undefined, isWorking: true };
}

/** Undefined if there is none or it was aborted: the first layout stays. */
async function finerMap(asked: string, signal: AbortSignal): Promise<MemoryMap | undefined> {
  try {
    const base = await ask<MemoryMap | null>(pathWith("/api/map", { q: asked, dimensions }), { signal });
    if (base?.fine === undefined) return undefined;
    const places = await refined({ values: valuesIn(base.fine), dimensions }, signal);
    return places && placed(base, places);
  } catch (error) {
    if (!signal.aborted) told(error);
    return undefined;
  }
}

async function refined(points: FinePoints, signal: AbortSignal): Promise<Places | undefined> {
  const worker = new Worker(new URL("./umap-worker.ts", import.meta.url), { type: "module" });
  try {
    return await new Promise<Places | undefined>((resolve, reject) => {
      worker.addEventListener("message", ({ data }: MessageEvent<Places | undefined>) => resolve(data));
      worker.addEventListener("error", (event) => reject(new Error(event.message)));
      signal.addEventListener("abort", () => resolve(undefined));
      worker.postMessage(points);
    });
  } finally {
    worker.terminate();
  }
}

function placed(base: MemoryMap, { x, y }: Places): MemoryMap {
  const count = base.note.length;
  const [queryX, queryY] = [x[count], y[count]];
  const query = queryX === undefined || queryY === undefined ? undefined : ([queryX, queryY] as const);
  return { ...base, x: x.slice(0, count), y: y.slice(0, count), query };
}

function valuesIn(base64: string): Int8Array {
  return Int8Array.from(atob(base64), (sign) => (sign.charCodeAt(0) << 24) >> 24);
}
