import { expect, test } from "vitest";
import type { LanguageCode } from "../../text/languages/function-words.ts";
import { LanguageMemory } from "./language-memory.ts";

/** Counts how often languages were counted. */
function counted(): {
  memory: LanguageMemory;
  ask: (...given: Given) => Promise<readonly LanguageCode[]>;
  count(): number;
} {
  const memory = new LanguageMemory();
  let times = 0;
  return {
    memory,
    ask: (places, revision, held = ["de"], isWhole = true) =>
      memory.of(
        places,
        revision,
        async () => {
          times++;
          return held;
        },
        () => isWhole,
      ),
    count: () => times,
  };
}
type Given = [places: unknown, revision: string | undefined, held?: LanguageCode[], isWhole?: boolean];

test("languages are counted once for each state of the index and each scope", async () => {
  const { ask, count } = counted();
  for (let round = 0; round < 3; round++) expect(await ask(false, "1")).toEqual(["de"]);
  expect(count()).toBe(1);
  expect(await ask([{ source: "memory", scope: { within: ["shared/"], without: [] } }], "1", [])).toEqual([]);
  expect(await ask(false, "1")).toEqual(["de"]);
  expect(count()).toBe(2);
  expect(await ask(false, "2", ["de", "fr"])).toEqual(["de", "fr"]);
  expect(await ask(false, "2", [])).toEqual(["de", "fr"]);
  expect(count()).toBe(3);
});

test("they are counted each time where the index does not tell its state, and while its words are made anew", async () => {
  const { ask, count } = counted();
  await ask(false, undefined);
  await ask(false, undefined);
  expect(await ask(false, "1", [], false)).toEqual([]);
  expect(await ask(false, "1", ["de"])).toEqual(["de"]);
  expect(count()).toBe(4);
});

test("of many scopes the last twenty are kept, and none that names thousands of paths", async () => {
  const { ask, count } = counted();
  for (let scope = 0; scope < 40; scope++) await ask(scope, "1");
  for (let scope = 20; scope < 40; scope++) await ask(scope, "1");
  expect(count()).toBe(40);
  await ask(0, "1");
  expect(count()).toBe(41);
  const long = Array.from({ length: 3000 }, (_, index) => `note-${index}.md`);
  await ask(long, "1");
  await ask(long, "1");
  expect(count()).toBe(43);
});
