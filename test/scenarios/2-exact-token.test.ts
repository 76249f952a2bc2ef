import { describe, expect, test } from "vitest";
import { ask } from "../support/embedding-bench.ts";
import { useHouse } from "../support/house.ts";
import { placedEmbeddings } from "../support/placed-embeddings.ts";

const weights = [
  [0.7, 0.3],
  [1, 0],
  [0, 1],
] as const;

describe("an identifier that one note holds, whose vector is far from the question", () => {
  test.each(weights)(
    "is found with weights %f and %f, whatever score is asked for",
    async (vectorWeight, textWeight) => {
      const house = useHouse();
      house.write({ "memory/needle.md": "# Colours\n\nThe paint of the door is QZV91-lime, bought in May.\n" });
      for (let index = 0; index < 200; index++)
        house.write({
          [`memory/other-${index}.md`]: `# Colours ${index}\n\nThe paint of door ${index} is lime or ochre, QZV${100 + index}.\n`,
        });
      const memory = await house.open({
        embeddings: placedEmbeddings((text) => (text.includes("QZV91") ? 0 : 0.9)),
        memorySearch: { query: { hybrid: { vectorWeight, textWeight } } },
      });
      await memory.sync();
      for (const query of ["QZV91-lime", "qzv91-lime", "which door is QZV91-lime"])
        for (const minScore of [undefined, 0, 0.35, 0.9]) {
          const { results, report } = await ask(memory, query, { minScore, maxResults: 10 });
          const place = results.findIndex(({ path }) => path === "memory/needle.md");
          expect(place, `${query} with minScore ${minScore}`).toBeGreaterThanOrEqual(0);
          expect(results[place]?.snippet).toContain("QZV91-lime");
          expect(report.legs.keyword?.kept).toBeGreaterThan(0);
          // Best first, and nothing but the perfect answer is perfect.
          const scores = results.map(({ score }) => score);
          expect(scores).toEqual(scores.toSorted((left, right) => right - left));
          expect(results.filter(({ score }) => score === 1).length).toBeLessThanOrEqual(1);
        }
    },
  );

  test("notes that hold more of the question come first, with scores that differ", async () => {
    const house = useHouse();
    const words = ["heron", "kestrel", "plover", "dunlin"];
    for (let count = 1; count <= words.length; count++)
      house.write({
        [`memory/birds-${count}.md`]: `We saw ${words.slice(0, count).join(" and ")} at the lake today.\n`,
      });
    const memory = await house.open();
    const { results } = await ask(memory, words.join(" "));
    expect(results.map(({ path }) => path)).toEqual([4, 3, 2, 1].map((count) => `memory/birds-${count}.md`));
    expect(new Set(results.map(({ textScore }) => textScore)).size).toBe(words.length);
  });
});
