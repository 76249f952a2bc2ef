import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Table } from "@lancedb/lancedb";
import { MemoryError, messageOf, type SyncProgress, withDeadline, type WriterStatus } from "@memslot/core";
import type { IndexLeases, LeaseName } from "@memslot/indexing";
import pLimit from "p-limit";
import { type Columns, tableOf } from "../lance/rows.ts";
import { optionKey } from "../place/address.ts";
import { isConflict, type Run } from "../place/failures.ts";
import { leasesTable, retryConflicts, type Tables } from "./tables.ts";

/** Work that one host at a time may do: that of every index, and compaction. */
type PlaceLease = LeaseName | "compact";

export interface LeaseTiming {
  expiryMs: number;
  /** How often a host renews its leases. The clocks of two hosts may differ by `expiryMs` less twice this. */
  heartbeatMs: number;
}

const usualTiming: LeaseTiming = { expiryMs: 60_000, heartbeatMs: 15_000 };

interface LeaseInput {
  tables: Tables;
  run: Run;
  placeName: string;
  /** Whether the place may be a bucket that ignores `If-None-Match`. */
  probes: boolean;
  timing?: LeaseTiming | undefined;
  now?: (() => number) | undefined;
}

interface LeaseRow {
  /** The lease, or `made` for the row that says that the table is complete. */
  name: string;
  token: string;
  renewed_at: number;
  status: string;
}

const columns: Columns = { name: "key", token: "text", renewed_at: "number", status: "text" };
const callMs = 20_000;
const closeMs = 5_000;
/** The host that makes each such version deletes old ones: each renewal makes a version. */
const trimEvery = 64;
const keepMs = 600_000;

/**
 * Leases as rows of a shared table. One conditional write takes a free or expired lease; LanceDB lets one of several
 * such writes win.
 */
export class Leases implements IndexLeases {
  readonly #input: LeaseInput;
  readonly #timing: LeaseTiming;
  readonly #now: () => number;
  readonly #held = new Map<PlaceLease, { row: LeaseRow; isLost: boolean }>();
  // Changes of one process would conflict with each other.
  readonly #inTurn = pLimit(1);
  #heartbeat: NodeJS.Timeout | undefined;
  #prepared: Promise<void> | undefined;

  constructor(input: LeaseInput) {
    this.#input = input;
    this.#timing = input.timing ?? usualTiming;
    this.#now = input.now ?? Date.now;
  }

  acquire(name: PlaceLease, reason: string): Promise<boolean> {
    return this.#inTurn(async () => {
      if (this.#held.get(name)?.isLost === false) return true;
      const rows = await this.#rows();
      if (this.#aliveIn(rows, name)) return false;
      if (rows.length === 0) await this.#create();
      const at = this.#now();
      const status = { pid: process.pid, host: hostname(), reason, since: new Date(at).toISOString() };
      const row: LeaseRow = { name, token: randomUUID(), renewed_at: at, status: JSON.stringify(status) };
      const [oldest, newest] = [at - this.#timing.expiryMs, at + this.#timing.expiryMs];
      const isFree = `target.token = '' OR target.renewed_at < ${oldest} OR target.renewed_at > ${newest}`;
      // The storage may have taken a write that it was sent twice.
      const condition = `${isFree} OR target.token = '${row.token}'`;
      const isOurs = await this.#put(row, condition, true).catch((error: unknown) => {
        if (MemoryError.is(error, "BUSY")) return false;
        throw error;
      });
      if (!isOurs) return false;
      this.#held.set(name, { row, isLost: false });
      this.#heartbeat ??= this.#nextBeat();
      return true;
    });
  }

  release(name: PlaceLease): Promise<void> {
    return this.#inTurn(async () => {
      const lease = this.#held.get(name);
      this.#held.delete(name);
      if (lease === undefined || lease.isLost) return;
      const where = `token = '${lease.row.token}'`;
      await this.#use((table) => retryConflicts(async () => table?.delete(where))).catch(() => undefined);
    });
  }

  async report(progress: SyncProgress): Promise<void> {
    const row = this.#held.get("build")?.row;
    if (row) row.status = JSON.stringify({ ...statusIn(row), ...progress });
  }

  async holder(name: PlaceLease): Promise<WriterStatus | undefined> {
    const own = this.#held.get(name);
    const row = own?.isLost === false ? own.row : this.#aliveIn(await this.#rows(), name);
    return row && statusIn(row);
  }

  slept(name: PlaceLease): number | undefined {
    const silentMs = this.#now() - (this.#held.get(name)?.row.renewed_at ?? this.#now());
    return silentMs > this.#timing.expiryMs ? silentMs : undefined;
  }

  async close(): Promise<void> {
    clearTimeout(this.#heartbeat);
    const all = [...this.#held.keys()].map((name) => this.release(name));
    const limits = { what: "releasing leases", deadlineMs: closeMs };
    await withDeadline(limits, () => Promise.all(all)).catch(() => undefined);
  }

  /** Before the first write of a process. Throws `UNAVAILABLE` if the place has no conditional writes. */
  prepare(): Promise<void> {
    return (this.#prepared ??= this.#create().catch((error: unknown) => {
      this.#prepared = undefined;
      throw error;
    }));
  }

  async #create(): Promise<void> {
    const { tables, probes, placeName } = this.#input;
    await this.#use(async (known) => {
      // A table without rows was left by a host that ended before its probe.
      if (known && (await known.countRows()) > 0) return;
      try {
        const table = await retryConflicts(() => tables.make(leasesTable, columns));
        if (probes && !(await hasConditionalWrites(table))) throw missingConditions(placeName);
      } catch (error) {
        if (known === undefined && !isConflict(error)) await tables.drop(leasesTable).catch(() => undefined);
        throw saysUnsupported(error) ? missingConditions(placeName, error) : error;
      }
    });
    await this.#put({ name: "made", token: "", renewed_at: 0, status: "" }, "false", true);
  }

  /** Uses the table at its newest version; undefined if there is none. */
  #use<T>(call: (table: Table | undefined) => Promise<T>): Promise<T> {
    const { tables, run } = this.#input;
    return run({
      what: "using the leases",
      deadlineMs: callMs,
      forget: () => tables.forget(),
      call: async () => call(await tables.open(leasesTable, true)),
    });
  }

  /** Replaces the row if it satisfies the condition; with `inserts` puts it in if there is none. False: neither. */
  #put(row: LeaseRow, condition: string, inserts: boolean): Promise<boolean> {
    const put = async (): Promise<boolean> => {
      // Another host may have replaced or deleted the table.
      const table = await this.#input.tables.open(leasesTable, true);
      const update = table?.mergeInsert("name").whenMatchedUpdateAll({ where: condition });
      const merge = inserts ? update?.whenNotMatchedInsertAll() : update;
      const result = await merge?.execute(tableOf(columns, [{ ...row }]));
      if (!table || !result) return false;
      const old = { cleanupOlderThan: new Date(this.#now() - keepMs) };
      // Two versions, since each other one may be that of a release.
      if (result.version % trimEvery < 2) await table.optimize(old).catch(() => undefined);
      return result.numInsertedRows + result.numUpdatedRows > 0;
    };
    return this.#use(() => retryConflicts(put, 6));
  }

  #rows(): Promise<LeaseRow[]> {
    return this.#use(async (table) => ((await table?.query().toArray()) ?? []) as LeaseRow[]);
  }

  #aliveIn(rows: readonly LeaseRow[], name: PlaceLease): LeaseRow | undefined {
    const isAlive = ({ renewed_at }: LeaseRow): boolean => Math.abs(this.#now() - renewed_at) <= this.#timing.expiryMs;
    return rows.find((row) => row.name === name && row.token !== "" && isAlive(row));
  }

  #nextBeat(): NodeJS.Timeout {
    return setTimeout(() => void this.#beat(), this.#timing.heartbeatMs).unref();
  }

  async #beat(): Promise<void> {
    for (const [name, lease] of this.#held)
      await this.#inTurn(async () => {
        if (this.#held.get(name) !== lease || lease.isLost) return;
        const row = { ...lease.row, renewed_at: this.#now() };
        // While the place does not answer, the lease is held until it expires.
        const isOurs = await this.#put(row, `target.token = '${row.token}'`, false).catch(() => undefined);
        if (isOurs === true) lease.row.renewed_at = row.renewed_at;
        lease.isLost = isOurs === false || this.#now() - lease.row.renewed_at > this.#timing.expiryMs;
      });
    const isHeld = [...this.#held.values()].some(({ isLost }) => !isLost);
    this.#heartbeat = isHeld ? this.#nextBeat() : undefined;
  }
}

function statusIn({ status }: LeaseRow): WriterStatus {
  return JSON.parse(status) as WriterStatus;
}

/** Creates a tag twice, which LanceDB does with `If-None-Match: *`, as it commits: the second must be refused. */
async function hasConditionalWrites(table: Table): Promise<boolean> {
  const [version, tags] = [await table.version(), await table.tags()];
  const name = `memslot-probe-${randomUUID()}`;
  await tags.create(name, version);
  const isRefused = await tags.create(name, version).then(
    () => false,
    (error: unknown) => {
      if (/already exists|Ref conflict/i.test(messageOf(error))) return true;
      throw error;
    },
  );
  await tags.delete(name);
  return isRefused;
}

function saysUnsupported(error: unknown): boolean {
  return /NotImplemented|not (?:yet )?(?:implemented|supported)|\b501\b/i.test(messageOf(error));
}

function missingConditions(place: string, cause?: unknown): MemoryError {
  return new MemoryError(
    "UNAVAILABLE",
    `${place} has no conditional writes: it overwrites existing keys, so commits to the index would be lost in silence; use a storage that refuses a second PUT with If-None-Match: * (AWS S3, Cloudflare R2, MinIO, Google Cloud Storage, Azure), or a folder on this machine as ${optionKey("dbPath")}`,
    cause === undefined ? {} : { cause },
  );
}
