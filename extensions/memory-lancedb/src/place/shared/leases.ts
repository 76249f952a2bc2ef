import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { type WriterStatus, withDeadline } from "@memslot/core";
import type { LeaseName, IndexLeases } from "@memslot/indexing";
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

/** Leases that end by themselves some time after their holder does, and at once when it closes them. */
export interface ExpiringLeases extends IndexLeases {
  /** Gives back what is held. */
  close(): Promise<void>;
}

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
 * it is free or its holder was not heard of for too long.
 */
export function createExpiringLeases(rows: LeaseRows, timing: LeaseTiming, now: () => number): ExpiringLeases {
  const held = new Map<LeaseName, Held>();
  const seen = new Map<LeaseName, Seen>();
  let heartbeat: NodeJS.Timeout | undefined;
  let laterReport: NodeJS.Timeout | undefined;
  // One change after the other: those of one process would only stand in each other's way.
  let queue: Promise<unknown> = Promise.resolve();

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = queue.then(work);
    queue = turn.catch(() => undefined);
    return turn;
  }

  /** The holder's row, or as it was a moment ago where one asks again and again. Undefined where nobody holds it. */
  async function look(name: LeaseName): Promise<LeaseRow | undefined> {
    const known = seen.get(name);
    if (known !== undefined && known.refusals > patience.refusals && now() - known.at < patience.believedMs)
      return known.row;
    const row = await aliveRow(name);
    if (row === undefined) seen.delete(name);
    else seen.set(name, { row, at: now(), refusals: known?.refusals ?? 0 });
    return row;
  }

  async function aliveRow(name: LeaseName): Promise<LeaseRow | undefined> {
    const row = await rows.read(name);
    return row && row.token !== "" && Math.abs(now() - row.renewed_at) <= timing.expiryMs ? row : undefined;
  }

  const own = (lease: Held): string => `token = '${lease.token}'`;

  async function take(name: LeaseName, reason: string): Promise<boolean> {
    if (held.has(name)) return true;
    const found = await look(name);
    const known = seen.get(name);
    if (known !== undefined) known.refusals++;
    if (found !== undefined) return false;
    const at = now();
    const status = { pid: process.pid, host: hostname(), reason, since: new Date(at).toISOString() };
    const lease: Held = { token: randomUUID(), status, renewedAt: at, reportedAt: Number.NEGATIVE_INFINITY };
    const values = { token: lease.token, renewed_at: at, status: JSON.stringify(status) };
    try {
      // Whoever else found it free wants the same, and finds it taken when his turn comes.
      await rows.change(name, `token = '' OR abs(renewed_at - ${at}) > ${timing.expiryMs}`, values);
    } catch (error) {
      if (isConflict(error)) return false;
      throw error;
    }
    if ((await aliveRow(name))?.token !== lease.token) return false;
    held.set(name, lease);
    heartbeat ??= nextBeat();
    return true;
  }

  /** Writes that the holder is alive and how far it is. Where the lease is somebody else's by now, it is not held any more. */
  async function renew(name: LeaseName, lease: Held): Promise<void> {
    const at = now();
    await rows.change(name, own(lease), { renewed_at: at, status: JSON.stringify(lease.status) });
    if ((await aliveRow(name))?.token === lease.token) lease.renewedAt = at;
    else drop(name, lease);
  }

  function drop(name: LeaseName, lease: Held): void {
    if (held.get(name) !== lease) return;
    held.delete(name);
    if (name === "build") {
      clearTimeout(laterReport);
      laterReport = undefined;
    }
    if (held.size > 0) return;
    clearTimeout(heartbeat);
    heartbeat = undefined;
  }

  function nextBeat(): NodeJS.Timeout {
    return setTimeout(() => void beat(), timing.heartbeatMs).unref();
  }

  async function beat(): Promise<void> {
    for (const [name, lease] of held) {
      try {
        await inTurn(() => renew(name, lease));
      } catch {
        // The place cannot be reached. Others take the lease for free after this time, and so do we.
        if (now() - lease.renewedAt > timing.expiryMs) drop(name, lease);
      }
    }
    if (held.size > 0) heartbeat = nextBeat();
  }

  async function giveBack(name: LeaseName): Promise<void> {
    const lease = held.get(name);
    if (lease === undefined) return;
    drop(name, lease);
    try {
      await free(name, lease);
    } catch {
      // Without a sign of life it ends by itself.
    }
  }

  function free(name: LeaseName, lease: Held): Promise<void> {
    return rows.change(name, own(lease), { token: "", status: "", renewed_at: 0 });
  }

  async function writeReport(lease: Held): Promise<void> {
    lease.reportedAt = now();
    try {
      await inTurn(() => renew("build", lease));
    } catch {
      // What is told next holds this too.
    }
  }

  return {
    acquire: (name, reason) => inTurn(() => take(name, reason)),
    release: (name) => inTurn(() => giveBack(name)),
    async report({ completed, total, label }) {
      const lease = held.get("build");
      if (lease === undefined) return;
      lease.status = { ...lease.status, completed, total, label };
      if (now() - lease.reportedAt >= timing.reportMs) return writeReport(lease);
      // What is told last must not be lost: the holder may hang from here on.
      laterReport ??= setTimeout(() => {
        laterReport = undefined;
        void writeReport(lease);
      }, timing.reportMs).unref();
    },
    async holder(name) {
      const lease = held.get(name);
      if (lease !== undefined) return lease.status;
      const row = await look(name);
      return row && statusIn(row);
    },
    async close() {
      const all = [...held.keys()].map((name) => inTurn(() => giveBack(name)));
      // Where the place does not answer, what is held ends by itself.
      const limits = { what: "giving back leases", deadlineMs: closeMs };
      await withDeadline(limits, () => Promise.all(all)).catch(() => undefined);
    },
  };
}

function statusIn({ status }: LeaseRow): WriterStatus | undefined {
  try {
    const parsed = JSON.parse(status) as WriterStatus;
    return typeof parsed.pid === "number" && typeof parsed.reason === "string" ? parsed : undefined;
  } catch {
    return undefined;
  }
}
