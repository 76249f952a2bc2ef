import { writeFileSync } from "node:fs";
import path from "node:path";
import { eventually } from "@memslot/test-tools/wait";
import { expect } from "vitest";
import { useHouse } from "./temp-workspace.ts";
import { noteName, sessionsFolder, twoPartNote, twoPartNotes } from "./generated-notes.ts";
import { resultOf } from "./start-memory.ts";

const fileCount = 30;
const never = 2 ** 30;
const sources = ["memory", "sessions"];

interface Rebuild {
  what: string;
  chunking: object;
  store: object;
}

/** The next build shares no chunk with the one that answers, or all of them. */
export const rebuilds: readonly Rebuild[] = [
  { what: "other chunks", chunking: { tokens: 50, overlap: 0 }, store: {} },
  { what: "the same chunks, without the vector extension", chunking: {}, store: { vector: { enabled: false } } },
];

/** While a rebuild is under way every answer is of the build that is whole, and of what was saved since. */
export async function expectOneBuildAnswers({ chunking, store }: Rebuild): Promise<void> {
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
  const isFound = async (): Promise<boolean> => resultOf(await memory.search("anew7")).results[0]?.path === noteName(7);
  await eventually(isFound, "the saved note is found");
  expect(resultOf(await memory.status()).generation).toMatchObject({
    id: generation?.id,
    next: { files: fileCount + 1 },
  });
  resultOf(await memory.close());
}
