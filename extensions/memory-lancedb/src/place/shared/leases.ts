import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { type SyncProgress, type WriterStatus, withDeadline } from "@memslot/core";
import pLimit from "p-limit";
import type { PlaceLease, PlaceLeases } from "../place.ts";
import { isConflict } from "../../store-failure.ts";
import type { LeaseRow, LeaseRows } from "./lease-table.ts";

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

/** Who waits for a lease asks many times a second. After so many refusals in a row an answer is believed for a while. */
const patience = { refusals: 5, believedMs: 500 };

const closeMs = 5_000;

/** What was last seen of a lease of somebody else. */
interface Seen {
  row: LeaseRow;
  at: number;
  refusals: number;
}

interface Held {
  token: string;
  status: WriterStatus;
  renewedAt: number;
  reportedAt: number;
}

/**
 * Leases as rows of a table that all hosts see. A lease is taken by a change that only one can win: of the row, where
 * it is free or its holder was not heard of for too long. They end by themselves some time after their holder does, and
 * at once when it closes them.
 */
export class ExpiringLeases implements PlaceLeases {
  readonly #rows: LeaseRows;
  readonly #timing: LeaseTiming;
  readonly #now: () => number;
  readonly #held = new Map<PlaceLease, Held>();
  readonly #seen = new Map<PlaceLease, Seen>();
  /** What is held no more without having been given back: when it was renewed last. */
  readonly #lost = new Map<PlaceLease, number>();
  // One change after the other: those of one process would only stand in each other's way.
  readonly #inTurn = pLimit(1);
  #heartbeat: NodeJS.Timeout | undefined;
  #laterReport: NodeJS.Timeout | undefined;

  constructor(rows: LeaseRows, timing: LeaseTiming, now: () => number) {
    this.#rows = rows;
    this.#timing = timing;
    this.#now = now;
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
    const { reportMs } = this.#timing;
    if (this.#now() - lease.reportedAt >= reportMs) return this.#writeReport(lease);
    // What is told last must not be lost: the holder may hang from here on.
    this.#laterReport ??= setTimeout(() => {
      this.#laterReport = undefined;
      void this.#writeReport(lease);
    }, reportMs).unref();
  }

  async holder(name: PlaceLease): Promise<WriterStatus | undefined> {
    const lease = this.#held.get(name);
    if (lease !== undefined) return lease.status;
    const row = await this.#look(name);
    return row && statusIn(row);
  }

  slept(name: PlaceLease): number | undefined {
    const since = this.#held.get(name)?.renewedAt ?? this.#lost.get(name);
    const silentMs = since === undefined ? 0 : this.#now() - since;
    return silentMs > this.#timing.expiryMs ? silentMs : undefined;
  }

  /** Gives back what is held. */
  async close(): Promise<void> {
    const all = [...this.#held.keys()].map((name) => this.release(name));
    // Where the place does not answer, what is held ends by itself.
    const limits = { what: "giving back leases", deadlineMs: closeMs };
    await withDeadline(limits, () => Promise.all(all)).catch(() => undefined);
  }

  /** The holder's row, or as it was a moment ago where one asks again and again. Undefined where nobody holds it. */
  async #look(name: PlaceLease): Promise<LeaseRow | undefined> {
    const known = this.#seen.get(name);
    if (known !== undefined && known.refusals > patience.refusals && this.#now() - known.at < patience.believedMs)
      return known.row;
    const row = await this.#aliveRow(name);
    if (row === undefined) this.#seen.delete(name);
    else this.#seen.set(name, { row, at: this.#now(), refusals: known?.refusals ?? 0 });
    return row;
  }

  async #aliveRow(name: PlaceLease): Promise<LeaseRow | undefined> {
    const row = await this.#rows.read(name);
    if (!row || row.token === "") return undefined;
    return Math.abs(this.#now() - row.renewed_at) <= this.#timing.expiryMs ? row : undefined;
  }

  async #take(name: PlaceLease, reason: string): Promise<boolean> {
    if (this.#held.has(name)) return true;
    const found = await this.#look(name);
    const known = this.#seen.get(name);
    if (known !== undefined) known.refusals++;
    if (found !== undefined) return false;
    const at = this.#now();
    const status = { pid: process.pid, host: hostname(), reason, since: new Date(at).toISOString() };
    const lease: Held = { token: randomUUID(), status, renewedAt: at, reportedAt: Number.NEGATIVE_INFINITY };
    const values = { token: lease.token, renewed_at: at, status: JSON.stringify(status) };
    try {
      // Whoever else found it free wants the same, and finds it taken when his turn comes.
      await this.#rows.change(name, `token = '' OR abs(renewed_at - ${at}) > ${this.#timing.expiryMs}`, values);
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

  /** Writes that the holder is alive and how far it is. Where the lease is somebody else's by now, it is not held any more. */
  async #renew(name: PlaceLease, lease: Held): Promise<void> {
    const at = this.#now();
    await this.#rows.change(name, own(lease), { renewed_at: at, status: JSON.stringify(lease.status) });
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
    return setTimeout(() => void this.#beat(), this.#timing.heartbeatMs).unref();
  }

  async #beat(): Promise<void> {
    for (const [name, lease] of this.#held) {
      try {
        await this.#inTurn(() => this.#renew(name, lease));
      } catch {
        // The place cannot be reached. Others take the lease for free after this time, and so do we.
        if (this.#now() - lease.renewedAt > this.#timing.expiryMs) this.#drop(name, lease);
      }
    }
    if (this.#held.size > 0) this.#heartbeat = this.#nextBeat();
  }

  async #giveBack(name: PlaceLease): Promise<void> {
    const lease = this.#held.get(name);
    this.#lost.delete(name);
    if (lease === undefined) return;
    this.#drop(name, lease);
    this.#lost.delete(name);
    try {
      await this.#rows.change(name, own(lease), { token: "", status: "", renewed_at: 0 });
    } catch {
      // Without a sign of life it ends by itself.
    }
  }

  async #writeReport(lease: Held): Promise<void> {
    lease.reportedAt = this.#now();
    try {
      await this.#inTurn(() => this.#renew("build", lease));
    } catch {
      // What is told next holds this too.
    }
  }
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
