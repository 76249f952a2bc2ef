import assert from "node:assert/strict";
import type { IndexLeases, LeaseName } from "@memslot/indexing";
import { makeTempFolder, removeTempFolder } from "./helpers/temp-folder.ts";
import { type Check, type SuiteOptions, type TestRunner, registerSuite } from "./register-suite.ts";

/** The leases of one host. */
type HostLeases = Pick<IndexLeases, "acquire" | "release" | "holder"> & { close(): Promise<void> };

export interface LeaseConformanceOptions extends SuiteOptions {
  /** Opens the leases of one more host for the place of this folder. Each check gets a folder of its own, empty at first. */
  open(folder: string): Promise<HostLeases>;
  /** Removes what is kept elsewhere for this folder. Called after each check. */
  removePlace?: ((folder: string) => Promise<void>) | undefined;
}

interface LeaseLab {
  /** Opens the leases of one more host. They are closed after the check. */
  host(): Promise<HostLeases>;
}

/** Proves that leases exclude other hosts of one place. */
export function leasesConformance(runner: TestRunner, options: LeaseConformanceOptions): void {
  registerSuite(runner, {
    title: "leases",
    checks: leaseChecks,
    options,
    async run(check) {
      const folder = await makeTempFolder("leases");
      const hosts: HostLeases[] = [];
      try {
        return await check.run({
          async host() {
            const leases = await options.open(folder);
            hosts.push(leases);
            return leases;
          },
        });
      } finally {
        for (const leases of hosts) await leases.close();
        await options.removePlace?.(folder);
        await removeTempFolder(folder);
      }
    },
  });
}

const names: readonly LeaseName[] = ["files", "build"];

const leaseChecks: readonly Check<LeaseLab>[] = [
  {
    id: "leases.exclusive",
    promise: "one host at a time has a lease, may acquire it again, and others read who has it and why",
    async run({ host }) {
      const [mine, theirs] = [await host(), await host()];
      const reason = 'it\'s a "sync" \\ 同步';
      for (const name of names) {
        assert.equal(await mine.acquire(name, reason), true);
        assert.equal(await mine.acquire(name, "again"), true);
        assert.equal(await theirs.acquire(name, "theirs"), false);
        const owner = (await theirs.holder(name)) ?? assert.fail("nothing says who has it");
        assert.deepEqual([owner.pid, owner.reason], [process.pid, reason]);
        assert.ok(!Number.isNaN(Date.parse(owner.since)), `since is ${owner.since}`);
      }
    },
  },
  {
    id: "leases.separate",
    promise: "each lease is given by itself",
    async run({ host }) {
      const [mine, theirs] = [await host(), await host()];
      assert.equal(await mine.acquire("files", "mine"), true);
      assert.equal(await theirs.acquire("build", "theirs"), true);
    },
  },
  {
    id: "leases.release",
    promise: "only its owner releases a lease, by `release` or by closing; then it is free",
    async run({ host }) {
      const [mine, theirs] = [await host(), await host()];
      for (const give of [() => mine.release("files"), () => mine.close()]) {
        assert.equal(await mine.acquire("files", "mine"), true);
        await theirs.release("files");
        assert.equal(await theirs.acquire("files", "theirs"), false);
        await give();
        assert.equal(await theirs.holder("files"), undefined);
        assert.equal(await theirs.acquire("files", "theirs"), true);
        await theirs.release("files");
      }
    },
  },
  {
    id: "leases.race",
    promise: "of several hosts that ask at once exactly one gets the lease",
    async run({ host }) {
      const all = [await host(), await host(), await host()];
      for (let round = 0; round < 3; round++) {
        const given = await Promise.all(all.map((each) => each.acquire("build", `round ${round}`)));
        assert.equal(given.filter(Boolean).length, 1, given.join());
        await all[given.indexOf(true)]?.release("build");
      }
    },
  },
];
