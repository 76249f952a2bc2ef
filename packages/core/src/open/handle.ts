import { createLifecycle } from "./lifecycle.ts";
import type { Memory } from "../contract/memory.ts";

interface CallOptions {
  signal?: AbortSignal | undefined;
}

/** A memory of one's own over one that is shared: closing it ends its own calls and leaves the shared one open. */
export function createHandle(memory: Memory, closeMs: number, release: () => Promise<void>): Memory {
  const lifecycle = createLifecycle(`the memory of agent "${memory.agentId}"`, closeMs);

  /** Adds the end of this handle to what aborts a call. */
  async function call<Options extends CallOptions, T>(
    what: string,
    options: Options | undefined,
    run: (options: Options | CallOptions | undefined) => Promise<T>,
  ): Promise<T> {
    lifecycle.assertOpen();
    // The shared memory refuses what is no object, or no signal, in its own words.
    if (!hasCallOptions(options)) return run(options);
    return lifecycle.run({ what, signals: [options?.signal] }, (signal) => run({ ...options, signal }));
  }

  return {
    agentId: memory.agentId,
    ownerAllowFrom: memory.ownerAllowFrom,
    workspaceDir: memory.workspaceDir,
    search: (query, options) => call("search", options, (own) => memory.search(query, own)),
    readFile: (params) => call("readFile", params, (own) => memory.readFile({ ...params, ...own })),
    status: () => memory.status(),
    sync: (params) => call("sync", params, (own) => memory.sync(own)),
    survey: (options) => call("survey", options, (own) => memory.survey(own)),
    health: (options) => call("health", options, (own) => memory.health(own)),
    listFiles: (options) => call("listFiles", options, (own) => memory.listFiles(own)),
    describeFile: (params) => call("describeFile", params, (own) => memory.describeFile({ ...params, ...own })),
    why: (query, target, options) => call("why", options, (own) => memory.why(query, target, own)),
    estimate: (options) => call("estimate", options, (own) => memory.estimate(own)),
    check: (options) => call("check", options, (own) => memory.check(own)),
    compact: (options) => call("compact", options, (own) => memory.compact(own)),
    details: (options) => call("details", options, (own) => memory.details(own)),
    map: (options) => call("map", options, (own) => memory.map(own)),
    near: (params) => call("near", params, (own) => memory.near({ ...params, ...own })),
    releaseQuarantine: (options) => call("releaseQuarantine", options, (own) => memory.releaseQuarantine(own)),
    probeEmbeddingAvailability: (options) =>
      call("probeEmbeddingAvailability", options, (own) => memory.probeEmbeddingAvailability(own)),
    probeVectorAvailability: (options) =>
      call("probeVectorAvailability", options, (own) => memory.probeVectorAvailability(own)),
    close: () => lifecycle.close([{ what: "closing", free: release }]),
  };
}

function hasCallOptions(options: CallOptions | undefined): boolean {
  if (options === undefined) return true;
  return (
    typeof options === "object" &&
    options !== null &&
    !Array.isArray(options) &&
    (options.signal === undefined || options.signal instanceof AbortSignal)
  );
}
