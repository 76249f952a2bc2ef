import { createReferencePlugin } from "@memslot/testkit";
import { randomFrom } from "@memslot/test-tools/random";
import { expect, test } from "vitest";
import { ask, copyHouse, inSlot, useHouse } from "../support/temp-workspace.ts";

const syllables = "ka lo mi re tu sa ven dor pli gra fo hu".split(" ");
const characters = Array.from({ length: 60 }, (_, index) => String.fromCodePoint(0x4e00 + 37 * index));
/** The first ones are in most passages, the last ones in a few. */
const vocabulary = Array.from({ length: 2000 }, (_, index) =>
  [index, index / 12, index / 144, 5].map((at) => syllables[Math.floor(at) % 12]).join(""),
);

test("in 5,200 passages every backend returns the same first result, whatever is common", async () => {
  const random = randomFrom(13);
  const word = (): string => vocabulary[Math.floor(2000 ** (random.below(1e6) / 1e6)) - 1] ?? "";
  const run = (): string => [0, 1, 2].map(() => random.pick(characters)).join("");
  const passage = (title: number): string => {
    const words = Array.from({ length: 15 + random.below(45) }, word);
    return `## ${title}\n\n${[...words, ...(random.chance(0.2) ? [run()] : [])].join(" ")}\n`;
  };
  const house = useHouse();
  for (let file = 0; file < 52; file++)
    house.write({
      [`memory/n${file}.md`]: Array.from({ length: 100 }, (_, at) => passage(file * 100 + at)).join("\n"),
    });
  // A rare word with very common ones, or with a character that is the beginning of indexed pairs.
  const questions = Array.from({ length: 30 }, (_, index) =>
    [
      ...(index % 5 === 4 ? [random.pick(characters)] : []),
      vocabulary[300 + random.below(1200)],
      ...Array.from({ length: 1 + random.below(3) }, () => vocabulary[random.below(12)]),
    ].join(" "),
  );
  const answersOf = async (backend: string): Promise<{ first: string | undefined; all: unknown }[]> => {
    const memory = await copyHouse(house, { fresh: true, sharesNotes: true }).open({
      settings: inSlot(backend),
      memorySearch: { sync: { watch: false, onSearch: false }, chunking: { tokens: 120, overlap: 0 } },
      plugins: backend === "reference" ? [createReferencePlugin()] : [],
    });
    await memory.sync();
    // LanceDB counts what its index of words contains: a write brings it up to date some time later.
    await memory.compact();
    expect(memory.status().chunks).toBeGreaterThan(5000);
    const answers = [];
    for (const question of questions) {
      const { results, report } = await ask(memory, question);
      const places = results.map(({ path, startLine, score }) => `${path}:${startLine} ${score.toFixed(9)}`);
      answers.push({ first: places[0]?.split(" ")[0], all: [question, places, report.found, report.confidence] });
    }
    return answers;
  };
  const [core, lancedb, reference] = [
    await answersOf("memory-core"),
    await answersOf("memory-lancedb"),
    await answersOf("reference"),
  ];
  expect(reference).toEqual(core);
  // LanceDB estimates the counts of very common terms, and weighs each word of a beginning by itself.
  expect(lancedb.map(({ first }) => first)).toEqual(core.map(({ first }) => first));
  expect(core.every(({ first }) => first !== undefined)).toBe(true);
}, 120_000);
