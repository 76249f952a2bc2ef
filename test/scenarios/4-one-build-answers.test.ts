import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test, vi } from "vitest";
import { useHouse } from "../support/house.ts";
import { noteName, twoPartNote, twoPartNotes } from "../support/notes.ts";
import { sessionsFolder } from "../support/random-notes.ts";
import { resultOf } from "../support/start-memory.ts";

const fileCount = 30;
const LONG = { timeout: 60_000, interval: 50 };
const never = 2 ** 30;
const sources = ["memory", "sessions"];

/** The next build shares no chunk with the one that answers, or all of them. */
const rebuilds = [
  { what: "other chunks", chunking: { tokens: 50, overlap: 0 }, store: {} },
  { what: "the same chunks, without the vector extension", chunking: {}, store: { vector: { enabled: false } } },
];

test.each(rebuilds)(
  "while a rebuild for $what is under way every answer is of the build that is whole, and of what was saved since",
  async ({ chunking, store }) => {
    const house = useHouse();
    house.write(twoPartNotes(fileCount));
    house.letSettle();
    const said = JSON.stringify({ type: "message", message: { role: "user", content: "The kitten was here." } });
    writeFileSync(path.join(sessionsFolder(house), "talk.jsonl"), `${said}\n`);
    const memory = house.start({ model: "model-a", memorySearch: { sources, store, sync: { watch: false } } });
    resultOf(await memory.open());
    expect(resultOf(await memory.sync({ reason: "cli" }))).toMatchObject({ added: fileCount + 1 });

    // Another process has read and cut all files, and waits for vectors.
    const rebuild = house.start({
      model: "model-b",
      delayMs: never,
      memorySearch: { sources, store, chunking },
    });
    resultOf(await rebuild.open());
    void rebuild.sync({ force: true, reason: "cli" });
    await vi.waitFor(async () => {
      resultOf(await memory.search("kitten"));
      resultOf(await memory.sync({ reason: "search" }));
      expect(resultOf(await memory.status()).generation?.next).toMatchObject({ files: fileCount + 1 });
    }, LONG);

    const { generation, files, chunks } = resultOf(await memory.status());
    expect({ files, chunks }).toEqual({ files: fileCount + 1, chunks: fileCount + 1 });
    for (const asked of [sources, ["memory"]]) {
      const found = asked.length === 1 ? fileCount : fileCount + 1;
      const { results, report } = resultOf(
        await memory.search("kitten", { sources: asked, maxResults: 100, maxTokens: 4000 }),
      );
      expect(report.legs).toMatchObject({ keyword: { candidates: found }, vector: { candidates: found } });
      const notes = results.filter(({ source }) => source === "memory");
      expect(notes).toHaveLength(fileCount);
      for (const note of notes) expect(note).toMatchObject({ startLine: 1, endLine: 5 });
    }

    house.write({ [noteName(7)]: twoPartNote(7, "anew7") });
    expect(resultOf(await memory.search("anew7")).results[0]).toMatchObject({ path: noteName(7) });
    expect(resultOf(await memory.status()).generation).toMatchObject({
      id: generation?.id,
      next: { files: fileCount + 1 },
    });
    resultOf(await memory.close());
  },
);
