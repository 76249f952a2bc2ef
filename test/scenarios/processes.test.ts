import { readdirSync, readlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { eventually } from "@memslot/test-tools/wait";
import { expect, test } from "vitest";
import { useHouse } from "../support/house.ts";
import { noteName, twoPartNote, twoPartNotes } from "../support/notes.ts";
import { sessionsFolder } from "../support/notes.ts";
import { resultOf } from "../support/start-memory.ts";

const fileCount = 30;
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
    await eventually(async () => {
      resultOf(await memory.search("kitten"));
      resultOf(await memory.sync({ reason: "search" }));
      return resultOf(await memory.status()).generation?.next?.files === fileCount + 1;
    }, "the rebuild has all files");

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

// Times and memory are measured by the bench.
const folders = 300;
const filesOfFolder = 4;
const mostWatches = 10;

test.skipIf(process.platform === "win32")(
  "files in 300 folders are indexed and watched with 256 descriptors",
  { timeout: 180_000 },
  async () => {
    const house = useHouse();
    for (let index = 0; index < folders * filesOfFolder; index++)
      house.write({
        [`memory/f-${index % folders}/note-${index}.md`]: `# Note ${index}\n\nThe kitten knows word${index}.\n`,
      });
    const memory = house.start({ memorySearch: { sync: { watchDebounceMs: 50 } } }, { limits: "ulimit -n 256" });
    resultOf(await memory.open());
    expect(resultOf(await memory.sync())).toMatchObject({ added: folders * filesOfFolder, failed: [] });
    for (const index of [1, 511, 1199])
      expect(resultOf(await memory.search(`word${index}`)).results[0]?.path).toBe(
        `memory/f-${index % folders}/note-${index}.md`,
      );
    expect(resultOf(await memory.sync())).toMatchObject({ added: 0, changed: 0, removed: 0 });

    const { watch, files } = resultOf(await memory.status());
    expect(files).toBe(folders * filesOfFolder);
    if (process.platform === "linux") expect(watchDescriptors(memory.pid)).toBeLessThanOrEqual(mostWatches);
    // Either it sees a change by itself, or it says why not; a search finds it all the same.
    expect(watch?.mode === "off" ? watch.reason : "watched").toBeTruthy();
    house.write({ "memory/f-7/late.md": "A puffin came by.\n" });
    for (let found = false; !found;) {
      const { results, report } = resultOf(await memory.search("puffin"));
      found = results[0]?.path === "memory/f-7/late.md";
      // On a busy machine an answer does not wait for the look at so many files, and says so.
      if (!found) expect(report.state).toBe("stale");
    }
    resultOf(await memory.close());
    expect(memory.stderr()).toBe("");
  },
);

/** Descriptors that a process watches files with. */
function watchDescriptors(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter((name) => {
    try {
      return readlinkSync(`${folder}/${name}`).includes("inotify");
    } catch {
      return false;
    }
  }).length;
}
