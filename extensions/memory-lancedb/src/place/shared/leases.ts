import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Connection, Table } from "@lancedb/lancedb";
import { MemoryError, messageOf, type SyncProgress, withDeadline, type WriterStatus } from "@memslot/core";
import type { IndexLeases, LeaseName } from "@memslot/indexing";
import pLimit from "p-limit";
import { type Columns, schemaOf, tableOf } from "../../lance/arrow-rows.ts";
import { isConflict, isGone, toStoreError } from "../../lance/store-failure.ts";
import { retryConflicts } from "../../lance/writes.ts";
import { callMs, type Within } from "../place-errors.ts";

/** What one host at a time has the right to do where several share a place: what every index has, and putting tables together. */
export type PlaceLease = LeaseName | "compact";

/** All in milliseconds. */
export interface LeaseTiming {
  /** A holder that has not been heard of for so long is taken for dead. */
  expiryMs: number;
  /** A holder says so often that it is alive. The clocks of two hosts may differ by expiry less twice this. */
  heartbeatMs: number;
  /** Progress is written at most this often. */
  reportMs: number;
}

export const leaseTiming: LeaseTiming = { expiryMs: 60_000, heartbeatMs: 15_000, reportMs: 5_000 };

export interface LeaseInput {
  connection: Connection;
  tableName: string;
  /** The place, for people. */
  placeName: string;
  /** Whether the place may be one that writes a key again that is there already. */
  probes: boolean;
  within: Within;
  timing: LeaseTiming;
  /** Milliseconds since 1970. Absent: the system's clock. */
  now?: (() => number) | undefined;
}

interface LeaseRow {
  name: string;
  /** Of the holder; empty where there is none. */
  token: string;
  /** When the holder last said that it is alive, in milliseconds since 1970. */
  renewed_at: number;
  /** JSON of a `WriterStatus`; empty where there is no holder. */
  status: string;
}

interface Held {
  token: string;
  status: WriterStatus;
  renewedAt: number;
  reportedAt: number;
}

const placeLeases: readonly PlaceLease[] = ["files", "build", "compact"];
const columns: Columns = { name: "key", token: "text", renewed_at: "number", status: "text" };
const freeRows = placeLeases.map((name) => ({ name, token: "", renewed_at: 0, status: "" }));
const closeMs = 5_000;
/** Each so many versions old ones are deleted, by the host that makes that version: each sign of life makes one. */
const trimEvery = 64;
/** No call needs an old version after this time. */
const keepMs = 600_000;

/**
 * Leases as rows of a table that all hosts see. A lease is taken by a change that only one can win: of the row, where
 * it is free or its holder was not heard of for too long. They end by themselves some time after their holder does, and
 * at once when it closes them.
 */
export class ExpiringLeases implements IndexLeases {
  readonly #input: LeaseInput;
  readonly #now: () => number;
  readonly #held = new Map<PlaceLease, Held>();
  /** What is held no more without having been given back: when it was renewed last. */
  readonly #lost = new Map<PlaceLease, number>();
  // One change after the other: those of one process would only stand in each other's way.
  readonly #inTurn = pLimit(1);
  #table: Table | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #laterReport: NodeJS.Timeout | undefined;

  constructor(input: LeaseInput) {
    this.#input = input;
    this.#now = input.now ?? Date.now;
  }

  acquire(name: PlaceLease, reason: string): Promise<boolean> {
    return this.#inTurn(() => this.#take(name, reason));
  }

  release(name: PlaceLease): Promise<void> {
    return this.#inTurn(() => this.#giveBack(name));
  }

  async report({ completed, total, label }: SyncProgress): Promise<void> {
    const lease = this.#held.get("build");
    if (lease === undefined) return;
    lease.status = { ...lease.status, completed, total, label };
    const { reportMs } = this.#input.timing;
    if (this.#now() - lease.reportedAt >= reportMs) return this.#writeReport(lease);
    // The last report must not be lost: the holder may hang from here on.
    this.#laterReport ??= setTimeout(() => {
      this.#laterReport = undefined;
      void this.#writeReport(lease);
    }, reportMs).unref();
  }

  async holder(name: PlaceLease): Promise<WriterStatus | undefined> {
    const row = this.#held.has(name) ? undefined : await this.#aliveRow(name);
    return this.#held.get(name)?.status ?? (row && statusIn(row));
  }

  slept(name: PlaceLease): number | undefined {
    const since = this.#held.get(name)?.renewedAt ?? this.#lost.get(name);
    const silentMs = since === undefined ? 0 : this.#now() - since;
    return silentMs > this.#input.timing.expiryMs ? silentMs : undefined;
  }

  /** Gives back what is held. */
  async close(): Promise<void> {
    const all = [...this.#held.keys()].map((name) => this.release(name));
    // Where the place does not answer, what is held ends by itself.
    const limits = { what: "giving back leases", deadlineMs: closeMs };
    await withDeadline(limits, () => Promise.all(all)).catch(() => undefined);
  }

  /** The table. Makes it where it is not there, and looks first whether the place keeps what several hosts write. */
  async toWrite(): Promise<Table> {
    const known = await this.#open();
    // One without rows was left by a host that ended in the middle of making it.
    if (known && (await known.countRows()) > 0) return known;
    const { connection, tableName, placeName, probes } = this.#input;
    const make = (): Promise<Table> => connection.createEmptyTable(tableName, schemaOf(columns), { existOk: true });
    try {
      // Hosts that make it at the same moment refuse each other; the next try finds it there.
      const table = await this.#run("making the table of leases", () => retryConflicts(make));
      if (probes && !(await this.#keepsConditions(table))) throw missingConditions(placeName);
      // Another host may have put its own in place of what was opened.
      const fill = (): Promise<void> => table.checkoutLatest().then(() => insertMissing(table, freeRows));
      await this.#run("making the table of leases", () => retryConflicts(fill));
      return (this.#table = table);
    } catch (error) {
      // Nothing of it stays in a place that is not used.
      this.#table = undefined;
      if (known === undefined) await connection.dropTable(tableName).catch(() => undefined);
      throw saysUnsupported(error) ? missingConditions(placeName, error) : error;
    }
  }

  #run<T>(what: string, call: () => Promise<T>): Promise<T> {
    return this.#input.within(what, callMs, undefined, call);
  }

  /** Undefined where no host has made it yet. */
  async #open(): Promise<Table | undefined> {
    const { connection, tableName } = this.#input;
    try {
      return (this.#table ??= await this.#run("opening the table of leases", () => connection.openTable(tableName)));
    } catch (error) {
      if (isGone(error) && !MemoryError.is(error)) return undefined;
      throw error;
    }
  }

  /** Uses the table as it is now. Another host may have deleted the index, and the table with it: then it is opened or made once more. */
  async #use<T>(open: () => Promise<Table | undefined>, use: (table: Table) => Promise<T>): Promise<T | undefined> {
    const once = async (): Promise<T | undefined> => {
      const table = await open();
      await (table && this.#run("keeping a lease", () => table.checkoutLatest()));
      return table && (await use(table));
    };
    try {
      return await once().catch(async (error: unknown) => {
        if (MemoryError.is(error) || !isGone(error)) throw error;
        this.#table = undefined;
        return await once();
      });
    } catch (error) {
      // A host that meets another one asks again.
      throw isConflict(error) ? error : toStoreError(error, `${this.#input.placeName}, at its leases,`);
    }
  }

  /**
   * Changes the row where the condition holds. Of several hosts that do so at once LanceDB lets one win and looks at the
   * condition again for the others. Throws where others never let it through.
   */
  async #change(name: PlaceLease, condition: string, values: Partial<Omit<LeaseRow, "name">>): Promise<void> {
    const where = `name = '${name}' AND (${condition})`;
    await this.#use(
      () => this.toWrite(),
      async (table) => {
        const run = <T>(call: () => Promise<T>): Promise<T> =>
          retryConflicts(() => this.#run("keeping a lease", call), 6);
        let { version, rowsUpdated } = await run(() => table.update({ where, values }));
        // A table that an earlier release has made lacks a row.
        if (rowsUpdated === 0 && (await run(() => table.countRows(`name = '${name}'`))) === 0) {
          await run(() => insertMissing(table, freeRows));
          ({ version } = await run(() => table.update({ where, values })));
        }
        const old = { cleanupOlderThan: new Date(this.#now() - keepMs) };
        // Old versions only take space.
        if (version > 0 && version % trimEvery === 0) await run(() => table.optimize(old)).catch(() => undefined);
      },
    );
  }

  async #aliveRow(name: PlaceLease): Promise<LeaseRow | undefined> {
    const row = await this.#use(
      () => this.#open(),
      (table) =>
        this.#run("reading a lease", async () => {
          const [found] = (await table.query().where(`name = '${name}'`).toArray()) as LeaseRow[];
          return found;
        }),
    );
    if (!row || row.token === "") return undefined;
    return Math.abs(this.#now() - row.renewed_at) <= this.#input.timing.expiryMs ? row : undefined;
  }

  async #take(name: PlaceLease, reason: string): Promise<boolean> {
    if (this.#held.has(name)) return true;
    if ((await this.#aliveRow(name)) !== undefined) return false;
    const at = this.#now();
    const status = { pid: process.pid, host: hostname(), reason, since: new Date(at).toISOString() };
    const lease: Held = { token: randomUUID(), status, renewedAt: at, reportedAt: Number.NEGATIVE_INFINITY };
    const values = { token: lease.token, renewed_at: at, status: JSON.stringify(status) };
    try {
      // Another host that found it free wants the same, and finds it taken.
      await this.#change(name, `token = '' OR abs(renewed_at - ${at}) > ${this.#input.timing.expiryMs}`, values);
    } catch (error) {
      if (isConflict(error)) return false;
      throw error;
    }
    if ((await this.#aliveRow(name))?.token !== lease.token) return false;
    this.#held.set(name, lease);
    this.#lost.delete(name);
    this.#heartbeat ??= this.#nextBeat();
    return true;
  }

  /** Writes that the holder is alive and how far it is. Where the lease is another host's by now, it is not held any more. */
  async #renew(name: PlaceLease, lease: Held): Promise<void> {
    const at = this.#now();
    await this.#change(name, own(lease), { renewed_at: at, status: JSON.stringify(lease.status) });
    if ((await this.#aliveRow(name))?.token === lease.token) lease.renewedAt = at;
    else this.#drop(name, lease);
  }

  #drop(name: PlaceLease, lease: Held): void {
    if (this.#held.get(name) !== lease) return;
    this.#held.delete(name);
    this.#lost.set(name, lease.renewedAt);
    if (name === "build") {
      clearTimeout(this.#laterReport);
      this.#laterReport = undefined;
    }
    if (this.#held.size > 0) return;
    clearTimeout(this.#heartbeat);
    this.#heartbeat = undefined;
  }

  #nextBeat(): NodeJS.Timeout {
    return setTimeout(() => void this.#beat(), this.#input.timing.heartbeatMs).unref();
  }

  async #beat(): Promise<void> {
    for (const [name, lease] of this.#held) {
      try {
        await this.#inTurn(() => this.#renew(name, lease));
      } catch {
        // The place cannot be reached. Others take the lease for free after this time, and so does this host.
        if (this.#now() - lease.renewedAt > this.#input.timing.expiryMs) this.#drop(name, lease);
      }
    }
    if (this.#held.size > 0) this.#heartbeat = this.#nextBeat();
  }

  async #giveBack(name: PlaceLease): Promise<void> {
    const lease = this.#held.get(name);
    if (lease !== undefined) {
      this.#drop(name, lease);
      // Without a sign of life it ends by itself.
      await this.#change(name, own(lease), { token: "", status: "", renewed_at: 0 }).catch(() => undefined);
    }
    this.#lost.delete(name);
  }

  async #writeReport(lease: Held): Promise<void> {
    lease.reportedAt = this.#now();
    // The next report has this one in it.
    await this.#inTurn(() => this.#renew("build", lease)).catch(() => undefined);
  }

  /**
   * Whether the storage refuses to write a key that is there already (`If-None-Match: *`). On this every commit of
   * LanceDB relies: without it, of two commits at once one is lost in silence. LanceDB writes a tag under exactly
   * this condition, so the same tag is made twice, with the client and the keys that the index is written with: the second
   * time must be refused.
   */
  async #keepsConditions(table: Table): Promise<boolean> {
    const run = <T>(call: () => Promise<T>): Promise<T> => this.#run("probing for conditional writes", call);
    const [version, tags] = [await run(() => table.version()), await run(() => table.tags())];
    const name = `memslot-probe-${randomUUID()}`;
    await run(() => tags.create(name, version));
    const isRefused = await run(() => tags.create(name, version)).then(
      () => false,
      (error: unknown) => {
        if (/already exists|Ref conflict/i.test(messageOf(error))) return true;
        throw error;
      },
    );
    await run(() => tags.delete(name));
    return isRefused;
  }
}

/** First there are no rows: of several hosts that make a table with rows at once, one overwrites what another has written. */
async function insertMissing(table: Table, rows: typeof freeRows): Promise<void> {
  await table.mergeInsert("name").whenNotMatchedInsertAll().execute(tableOf(columns, rows));
}

function own({ token }: Held): string {
  return `token = '${token}'`;
}

function statusIn({ status }: LeaseRow): WriterStatus | undefined {
  try {
    const parsed = JSON.parse(status) as WriterStatus;
    return typeof parsed.pid === "number" && typeof parsed.reason === "string" ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** True for the error of a storage that says of itself that it has no conditional writes. */
function saysUnsupported(error: unknown): boolean {
  const texts = [error, error instanceof Error ? error.cause : undefined].map(messageOf);
  return texts.some((text) => /NotImplemented|not (?:yet )?(?:implemented|supported)|\b501\b/i.test(text));
}

function missingConditions(place: string, cause?: unknown): MemoryError {
  return new MemoryError(
    "UNAVAILABLE",
    `${place} has no conditional writes: it writes a key again that is there already, so commits to the index would be lost in silence; use a storage that refuses a second PUT with If-None-Match: * (AWS S3, Cloudflare R2, MinIO, Google Cloud Storage, Azure), or a folder on this machine as plugins.entries.memory-lancedb.config.dbPath`,
    cause === undefined ? {} : { cause },
  );
}
