import { createCipheriv } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import notes from "../data/hostile-notes.json" with { type: "json" };
import { ask, askOnce, useHouse } from "../support/temp-workspace.ts";
import { seeded, stormSeed, stormSize } from "../support/storm-size.ts";

/** A note as it is made: `unit` so many times, `{i}` being its number, each `indent` once more behind the one before. */
type Recipe = (typeof notes)[number];

const recipes = Array.from({ length: stormSize(notes.length) }, (_, at) => notes[(stormSeed() + at) % notes.length]);

function bodyOf({ unit = "", times, indent = "", random }: Recipe): string {
  if (random !== undefined) {
    const zeros = Buffer.alloc(Math.floor((times * 3) / 4));
    const text = createCipheriv("aes-128-ctr", Buffer.alloc(16), Buffer.alloc(16))
      .update(zeros)
      .toString(random as "hex");
    return random === "hex" ? text.replaceAll(/.{64}/gu, "$&\n") : text;
  }
  if (indent === "" && !unit.includes("{i}")) return unit.repeat(times);
  return Array.from({ length: times }, (_, at) => indent.repeat(at) + unit.replaceAll("{i}", String(at))).join("");
}

/** Counts the turns of the event loop during a task, with the most processor time between two of them. */
async function turnsOf(task: () => Promise<unknown>): Promise<{ turns: number; mostMs: number }> {
  const processor = process.threadCpuUsage?.bind(process) ?? process.cpuUsage.bind(process);
  const now = (): number => (processor().user + processor().system) / 1000;
  let [turns, mostMs, last] = [0, 0, now()];
  const timer = setInterval(() => {
    turns++;
    mostMs = Math.max(mostMs, now() - last);
    last = now();
  }, 1);
  try {
    await task();
  } finally {
    clearInterval(timer);
  }
  return { turns, mostMs: Math.round(Math.max(mostMs, now() - last)) };
}

test.each(recipes.map((recipe) => [recipe?.name ?? "", recipe as Recipe] as const))(
  `a note of %s is indexed and found, and other notes are found meanwhile (${seeded})`,
  { timeout: 900_000 },
  async (name, recipe) => {
    const house = useHouse({ "memory/ferry.md": "# Boats\n\nThe ferry leaves at nine.\n" });
    const memory = await house.open({ memorySearch: { sync: { watch: false } } });
    await memory.sync();
    const text = [recipe.before, bodyOf(recipe), recipe.after, "\n\nAda keeps the lighthouse.\n"].join("");
    house.write({ "memory/hostile.md": text });

    const progress = { isIndexed: false, asked: 0 };
    const indexing = await turnsOf(async () => {
      const done = memory.sync().finally(() => (progress.isIndexed = true));
      while (!progress.isIndexed) {
        progress.asked++;
        expect((await askOnce(memory, "ferry")).paths).toEqual(["memory/ferry.md"]);
      }
      expect(await done).toMatchObject({ added: 1, failed: [] });
    });
    // The whole work in one turn would be one turn.
    expect(indexing.turns).toBeGreaterThanOrEqual(progress.asked);

    const searching = await turnsOf(async () => {
      const { paths, results, report } = await ask(memory, "who keeps the lighthouse");
      expect([paths[0], report.state]).toEqual(["memory/hostile.md", "ok"]);
      expect(results[0]?.snippet).toContain("Ada keeps the lighthouse.");
      for (const query of ['"river bridge" tag:none', '"river bridge" lighthouse -river', "river after:2030"])
        expect((await ask(memory, query, { maxTokens: 4000, maxResults: 200 })).paths).toEqual([]);
      await ask(memory, "river bridge", { maxTokens: 4000, maxResults: 200 });
    });
    const files = readdirSync(house.indexFolder).map((file) => statSync(path.join(house.indexFolder, file)).size);
    const [bytes, index] = [statSync(house.at("memory/hostile.md")).size, files.reduce((sum, size) => sum + size, 0)];
    expect(index).toBeLessThan(6 * bytes + 4_000_000);
    const most = `${indexing.mostMs} ms while it is indexed, ${searching.mostMs} ms in searches`;
    process.stdout.write(
      `${name}: most processor time in one turn: ${most}; index ${Math.round((index / bytes) * 10) / 10} x\n`,
    );
  },
);
