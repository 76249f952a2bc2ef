import { type FinePoints, refine } from "./umap-layout.ts";

// In a worker, so that the page stays responsive.
addEventListener("message", ({ data }: MessageEvent<FinePoints>) => postMessage(refine(data)));
