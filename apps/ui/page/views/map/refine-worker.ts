import { type FinePoints, refine } from "./refine.ts";

// Beside the page, which goes on answering meanwhile.
addEventListener("message", ({ data }: MessageEvent<FinePoints>) => postMessage(refine(data)));
