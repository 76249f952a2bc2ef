import { expect, test } from "vitest";
import type { OpenedStore } from "./database-store.ts";
import { edit, openHere, tempPath } from "./test/ledgers.ts";
import scripts from "./test/ledger-scripts.json" with { type: "json" };
import { verbsOf } from "./test/scripted-ledger.ts";

type Step = [verb: string, ...given: unknown[]];
type Expected = { is?: unknown; has?: object; fails?: string };

/** Steps on the store `one`; a verb that begins with `two.` is of another store in the same file. */
test.each((scripts as unknown as { promise: string; steps: Step[] }[]).map(({ promise, steps }) => [promise, steps]))(
  "%s",
  async (_, steps) => {
    const path = tempPath();
    const texts = new Map<string, string>();
    const stores = new Map<string, { ledger: OpenedStore; verbs: ReturnType<typeof verbsOf> }>();
    let options = {};
    const storeOf = (store: string): ReturnType<typeof verbsOf> => {
      const known = stores.get(store);
      if (known !== undefined) return known.verbs;
      const ledger = openHere(path, { store, ...options });
      const verbs = verbsOf(ledger, texts);
      stores.set(store, { ledger, verbs });
      return verbs;
    };
    const close = (): void => {
      for (const { ledger } of stores.values()) ledger.close();
      stores.clear();
    };
    for (const [index, [named, ...given]] of (steps as Step[]).entries()) {
      const step = `step ${index + 1}: ${JSON.stringify([named, ...given])}`;
      if (named === "reopen") {
        close();
        options = given[0] ?? {};
        continue;
      }
      const [verb = "", store = "one"] = named.split(".").toReversed();
      const last = given.at(-1) as Expected | undefined;
      const isExpected = typeof last === "object" && ["is", "has", "fails"].some((name) => name in last);
      const call = storeOf(store)[verb] as (...args: unknown[]) => unknown;
      const work = async (): Promise<unknown> => await call(...(isExpected ? given.slice(0, -1) : given));
      if (isExpected && last.fails !== undefined) {
        await expect(work(), step).rejects.toThrow(new RegExp(last.fails, "u"));
        continue;
      }
      const found = await work();
      if (isExpected && "is" in last) expect(found, step).toEqual(last.is ?? undefined);
      if (isExpected && last.has !== undefined) expect(found, step).toMatchObject(last.has);
    }
    close();
    expect(edit(path, (db) => db.pragma("integrity_check", { simple: true }))).toBe("ok");
  },
);
