import { expect, test } from "vitest";
import { startToyEmbeddings, toyVector } from "./toy-embeddings.ts";

function likeness(left: string, right: string): number {
  const [a, b] = [toyVector(left), toyVector(right)];
  const dot = a.reduce((sum, value, place) => sum + value * (b[place] ?? 0), 0);
  return dot / Math.hypot(...a) / Math.hypot(...b);
}

test("words of one meaning are near, others are not", () => {
  expect(likeness("our kitten", "Momo the cat")).toBeGreaterThan(0.8);
  expect(likeness("our kitten", "the landlord")).toBeLessThan(0.3);
});

test("the toy can be stopped and comes back at the same address", async () => {
  const toy = await startToyEmbeddings();
  const ask = async (): Promise<number> => {
    const body = JSON.stringify({ input: ["a", "b"] });
    const response = await fetch(`${toy.baseUrl}/embeddings`, { method: "POST", body });
    return ((await response.json()) as { data: unknown[] }).data.length;
  };
  expect(await ask()).toBe(2);
  await toy.stop();
  await expect(ask()).rejects.toThrow("fetch failed");
  await toy.start();
  expect(await ask()).toBe(2);
  await toy.stop();
  await toy.stop();
});
