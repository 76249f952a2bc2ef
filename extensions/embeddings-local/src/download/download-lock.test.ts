import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { takeLock } from "./download-lock.ts";
import { tempFolder } from "../test/lab.ts";

test("work that another one has ended just before the lock was free is not done again", async () => {
  const path = join(tempFolder(), "model.lock");
  const looks: boolean[] = [];
  const lock = await takeLock({
    path,
    look: async () => 0,
    onWait: async () => undefined,
    // Not there at the first look, and there at the next.
    isDone: async () => looks.push(true) > 1,
    pollMs: 5,
    takeOverMs: 60_000,
    signal: AbortSignal.timeout(30_000),
  });
  expect(lock).toBe("done");
  expect(existsSync(path)).toBe(false);
});
