import { describe, expect, test } from "vitest";
import { type House, useHouse } from "../support/temp-workspace.ts";
import { noteName, twoPartNote, twoPartNotes } from "../support/generated-notes.ts";
import { type RemoteMemory, resultOf } from "../support/start-memory.ts";

const fileCount = 120;
const onWindows = process.platform === "win32";

/** A house with an index, and a process on it that may have few files open. */
async function openHouse(limits: string): Promise<{ house: House; memory: RemoteMemory }> {
  const house = useHouse();
  house.write(twoPartNotes(fileCount));
  house.letSettle();
  const memory = house.start({ model: "model-a" }, { limits });
  resultOf(await memory.open());
  expect(resultOf(await memory.sync())).toMatchObject({ added: fileCount, failed: [] });
  return { house, memory };
}

describe.skipIf(onWindows)("a process that may open few files (no ulimit on Windows)", { timeout: 120_000 }, () => {
  test("indexes a folder in every note of which it cannot keep a watch", async () => {
    const house = useHouse();
    for (let index = 0; index < fileCount; index++)
      house.write({ [`memory/folder-${index}/note.md`]: twoPartNote(index) });
    const memory = house.start({ model: "model-a" }, { limits: "ulimit -n 64" });
    resultOf(await memory.open());
    expect(resultOf(await memory.sync())).toMatchObject({ added: fileCount, failed: [] });
    expect(resultOf(await memory.search("word77")).results[0]?.path).toBe("memory/folder-77/note.md");
    expect(resultOf(await memory.status()).watch).toMatchObject({ mode: expect.any(String) as string });
    resultOf(await memory.close());
    expect(memory.stderr()).toBe("");
  });

  test.each([0, 1, 2, 3])(
    "with %i left: forgets nothing, says what it could not look at, and goes on when it can",
    async (left) => {
      const { house, memory } = await openHouse("ulimit -n 128");
      house.write({ [noteName(7)]: twoPartNote(7, "anew7") });
      house.remove(noteName(100));
      resultOf(await memory.hold(left));
      const ending = await memory.sync();
      const found = await memory.search("word77");
      // What is there still answers, unless it cannot be compared with its note; then the answer says so. And nothing was
      // taken for gone that was only not to be seen.
      const { results, report } = resultOf(found);
      if (results.length > 0) expect(results[0]).toMatchObject({ path: noteName(77) });
      else expect(report).toMatchObject({ state: expect.stringMatching(/^(?:stale|degraded)$/u) });
      if (ending.error) expect(ending.error.message).toMatch(/EMFILE|too many open files/iu);
      else if (resultOf(ending).failed.length > 0)
        for (const { reason } of resultOf(ending).failed)
          expect(reason).toMatch(/too many open files: raise the limit/iu);
      resultOf(await memory.hold());

      expect(resultOf(await memory.sync())).toMatchObject({ failed: [] });
      expect(resultOf(await memory.search("anew7")).results[0]).toMatchObject({ path: noteName(7) });
      expect(resultOf(await memory.search("word100")).results.map((result) => result.path)).not.toContain(
        noteName(100),
      );
      expect(resultOf(await memory.status())).toMatchObject({ files: fileCount - 1 });
      expect(resultOf(await memory.check())).toMatchObject({ ok: true });
      resultOf(await memory.close());
      expect(memory.stderr()).toBe("");
    },
  );
});
