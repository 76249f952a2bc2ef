import { expect, test, vi } from "vitest";
import { useHouse } from "../support/house.ts";
import { saveInACrowd } from "../support/saving-crowd.ts";

vi.setConfig({ testTimeout: 30 * 60_000 });

test("what was saved before a sync was called is found when it has ended, with many at once", async () => {
  const house = useHouse();
  const memory = await house.open({ memorySearch: { sync: { onSearch: false, watch: false } } });
  const { saved, lost } = await saveInACrowd(memory, { savers: 16, rounds: 50, seed: 16 });
  process.stdout.write(`${saved} saves of a crowd: ${lost.length} not found after their own sync\n`);
  expect(lost).toEqual([]);
});
