import type { WriterStatus } from "@memslot/core";
import type { LeaseName, IndexLeases } from "@memslot/indexing";

export interface FakeLeases extends IndexLeases {
  /** From now on another process has this lease; `undefined`: it has let go of it. */
  heldByOther(name: LeaseName, writer: Partial<WriterStatus> | undefined): void;
  /** The ones that this process has. */
  held(): LeaseName[];
  releaseAll(): void;
}

type LeaseCall = "leases.acquire" | "leases.release" | "leases.report" | "leases.holder";

export function createFakeLeases(enter: (method: LeaseCall, argument?: unknown) => Promise<void>): FakeLeases {
  const own = new Map<LeaseName, WriterStatus>();
  const others = new Map<LeaseName, WriterStatus>();
  return {
    heldByOther(name, writer) {
      if (writer === undefined) return void others.delete(name);
      others.set(name, { pid: 4242, reason: "index", since: "2026-01-02T03:04:05.000Z", ...writer });
    },
    held: () => [...own.keys()],
    releaseAll: () => own.clear(),
    async acquire(name, reason) {
      await enter("leases.acquire", { name, reason });
      if (others.has(name)) return false;
      own.set(name, { pid: process.pid, reason, since: new Date().toISOString() });
      return true;
    },
    async release(name) {
      await enter("leases.release", name);
      own.delete(name);
    },
    async report(progress) {
      await enter("leases.report", progress);
      const writer = own.get("build");
      if (writer) own.set("build", { ...writer, ...progress });
    },
    async holder(name) {
      await enter("leases.holder", name);
      const writer = others.get(name) ?? own.get(name);
      return writer && { ...writer };
    },
  };
}
