import { createInMemoryStore } from "@memslot/testkit";
import { expect, test } from "vitest";
import { type Random, randomFrom } from "@memslot/test-tools/random";
import {
  type BreakableStore,
  type Disk,
  type Host,
  Killed,
  breakable,
  faultsOf,
  openHost,
} from "../support/simulated-hosts.ts";
import { seeded, stormSeed, stormSize } from "../support/storm-size.ts";

const worlds = stormSize(12);
const steps = 30;
const vocabulary = Array.from({ length: 30 }, (_, index) => `word${index}`);

/** Changes the notes: one is written, changed at its end, moved or deleted. */
function edit(disk: Disk, random: Random): void {
  const path = `note-${random.below(8)}.md`;
  const words = disk.get(path);
  const length = 1 + random.below(5);
  if (words === undefined || random.chance(0.4)) {
    disk.set(
      path,
      Array.from({ length }, () => random.pick(vocabulary)),
    );
  } else if (random.chance(0.3)) {
    disk.delete(path);
  } else if (random.chance(0.5)) {
    disk.delete(path);
    disk.set(`note-${random.below(8)}.md`, words);
  } else {
    disk.set(path, [...words.slice(0, -1), random.pick(vocabulary)]);
  }
}

/** Does one thing to the index, which may end in the middle. True: it did. */
async function step(
  host: Host,
  broken: BreakableStore,
  disk: Disk,
  random: Random,
  others: readonly Host[] = [],
): Promise<boolean> {
  if (random.chance(0.5)) broken.breakAt(1 + random.below(6), random.chance(0.5) ? "before" : "after");
  try {
    const kind = random.below(10);
    if (kind === 0) await host.restart();
    else if (kind === 1) {
      // As the settings of all who share a store are the same.
      const recipe = `recipe ${random.below(3)}`;
      for (const each of [host, ...others]) each.recipe = recipe;
      await host.rebuild(disk);
    } else {
      edit(disk, random);
      await host.sync(disk);
    }
    return false;
  } catch (error) {
    if (!(error instanceof Killed)) throw error;
    return true;
  } finally {
    broken.mend();
  }
}

test(
  `${worlds} hosts that are killed in the middle of ${steps} steps end in step with their store (${seeded})`,
  { timeout: 600_000 },
  async () => {
    const wrong: string[] = [];
    let kills = 0;
    let twice = 0;
    for (let world = 0; world < worlds; world++) {
      const random = randomFrom(stormSeed(world));
      const broken = breakable(createInMemoryStore());
      const host = await openHost(broken.store);
      const disk: Disk = new Map();
      for (let count = 0; count < steps; count++) {
        if (!(await step(host, broken, disk, random))) continue;
        kills++;
        await host.restart();
      }
      await host.sync(disk);
      wrong.push(...(await faultsOf(host.index, disk)).map((fault) => `${world}: ${fault}`));
      twice += [...host.embedded.values()].filter((count) => count > 1).length;
      await host.index.close();
    }
    expect(wrong).toEqual([]);
    expect(kills).toBeGreaterThan(worlds * 3);
    expect(twice, "what the ledger has is not embedded again").toBe(0);
  },
);

test(
  `two hosts that write to one store in turns end with the same right answers (${seeded})`,
  { timeout: 600_000 },
  async () => {
    const wrong: string[] = [];
    for (let world = 0; world < worlds; world++) {
      const random = randomFrom(stormSeed(1000 + world));
      const store = createInMemoryStore();
      const broken = [breakable(store), breakable(store)] as const;
      const hosts = [await openHost(broken[0].store), await openHost(broken[1].store)] as const;
      const disk: Disk = new Map();
      for (let count = 0; count < steps; count++) {
        const turn = random.chance(0.5) ? 0 : 1;
        if (await step(hosts[turn], broken[turn], disk, random, hosts)) await hosts[turn].restart();
      }
      for (const host of [...hosts, hosts[0]]) await host.sync(disk);
      for (const [at, host] of hosts.entries())
        wrong.push(...(await faultsOf(host.index, disk)).map((fault) => `${world}, host ${at}: ${fault}`));
      for (const host of hosts) await host.index.close();
    }
    expect(wrong).toEqual([]);
  },
);
