import { traceCall } from "@memslot/core";
import type { ChunkIndex, FileTable, IndexBuilds, IndexLeases, IndexUpkeep } from "./chunk-index.ts";

/** Makes one call to a store, and tells whoever listens how it went. */
type Call = <Result>(operation: string, run: () => Promise<Result>, given?: readonly unknown[]) => Promise<Result>;

/**
 * A store whose calls are told to whoever listens to `memslot:store`, for every store in the same way. What is told is how
 * many things went in and came out, and nothing of them.
 */
export function tracedStore(store: ChunkIndex, { agentId, backend }: { agentId: string; backend: string }): ChunkIndex {
  const call: Call = (operation, run, given) =>
    traceCall("store", () => ({ agentId, backend, operation, ...(given && { given: given.length }) }), run, foundIn);
  const { builds, leases, upkeep } = store;
  const [revision, giveVectors] = [store.revision?.bind(store), store.giveVectors?.bind(store)];
  return {
    ...tracedTable(store, call, ""),
    ...(revision && { revision: () => call("revision", () => revision()) }),
    ...(builds && { builds: tracedBuilds(builds, call) }),
    ...(leases && { leases: tracedLeases(leases, call) }),
    ...(upkeep && { upkeep: tracedUpkeep(upkeep, call) }),
    ...(store.keepsVectors === undefined ? {} : { keepsVectors: store.keepsVectors }),
    searchKeyword: (query) => call("searchKeyword", () => store.searchKeyword(query), query.terms),
    useSpace: (space) => call("useSpace", () => store.useSpace(space)),
    ...(giveVectors && { giveVectors: (space) => call("giveVectors", () => giveVectors(space)) }),
    searchVector: (query) => call("searchVector", () => store.searchVector(query)),
    pendingVectors: (space, limit) => call("pendingVectors", () => store.pendingVectors(space, limit)),
    putVectors: (space, entries) => call("putVectors", () => store.putVectors(space, entries), entries),
    knownVectors: (space, hashes) => call("knownVectors", () => store.knownVectors(space, hashes), hashes),
    quarantine: (space, entries) => call("quarantine", () => store.quarantine(space, entries), entries),
    quarantined: (space, limit) => call("quarantined", () => store.quarantined(space, limit)),
    releaseQuarantine: (space) => call("releaseQuarantine", () => store.releaseQuarantine(space)),
    spaces: () => call("spaces", () => store.spaces()),
    spaceStats: (space, within) => call("spaceStats", () => store.spaceStats(space, within)),
    probeVector: () => call("probeVector", () => store.probeVector()),
    stats: () => call("stats", () => store.stats()),
    // Facts that are at hand: there is nothing to wait for.
    health: () => store.health(),
    close: () => call("close", () => store.close()),
  };
}

function tracedTable(table: FileTable, call: Call, of: string): FileTable {
  return {
    listFiles: () => call(`${of}listFiles`, () => table.listFiles()),
    replaceFiles: (files) => call(`${of}replaceFiles`, () => table.replaceFiles(files), files),
    touchFiles: (files) => call(`${of}touchFiles`, () => table.touchFiles(files), files),
    removeFiles: (files) => call(`${of}removeFiles`, () => table.removeFiles(files), files),
  };
}

function tracedBuilds(builds: IndexBuilds, call: Call): IndexBuilds {
  return {
    start: async (name) => tracedTable(await call("builds.start", () => builds.start(name)), call, "builds."),
    finish: () => call("builds.finish", () => builds.finish()),
    abandon: () => call("builds.abandon", () => builds.abandon()),
  };
}

function tracedLeases(leases: IndexLeases, call: Call): IndexLeases {
  return {
    acquire: (name, reason) => call("leases.acquire", () => leases.acquire(name, reason)),
    release: (name) => call("leases.release", () => leases.release(name)),
    report: (progress) => call("leases.report", () => leases.report(progress)),
    holder: (name) => call("leases.holder", () => leases.holder(name)),
  };
}

function tracedUpkeep(upkeep: IndexUpkeep, call: Call): IndexUpkeep {
  return {
    check: () => call("upkeep.check", () => upkeep.check()),
    repair: () => call("upkeep.repair", () => upkeep.repair()),
    compact: () => call("upkeep.compact", () => upkeep.compact()),
    tables: () => call("upkeep.tables", () => upkeep.tables()),
    sample: (count) => call("upkeep.sample", () => upkeep.sample(count)),
    vectorOf: (space, hash) => call("upkeep.vectorOf", () => upkeep.vectorOf(space, hash)),
  };
}

/** How many rows an answer has, where it is a list or holds one. */
function foundIn(answer: unknown): { found?: number } {
  const rows = typeof answer === "object" && answer !== null && "rows" in answer ? answer.rows : answer;
  return Array.isArray(rows) ? { found: rows.length } : {};
}
