import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { ask } from "../support/embedding-bench.ts";
import { useHouse } from "../support/house.ts";
import { placedEmbeddings } from "../support/placed-embeddings.ts";
import { sessionsFolder } from "../support/random-notes.ts";
import type { SearchReport } from "memslot";

test.each(["words and meaning", "words alone"])(
  "one note is found among five hundred chunks of transcripts that match better, by %s",
  async (by) => {
    const house = useHouse();
    const talk = Array.from({ length: 600 }, (_, index) => {
      const content = `The printer in the office, printer question ${index}: ${`printer toner ${index} `.repeat(12)}`;
      return JSON.stringify({ type: "message", message: { role: index % 2 === 0 ? "user" : "assistant", content } });
    });
    writeFileSync(path.join(sessionsFolder(house), "long.jsonl"), `${talk.join("\n")}\n`);
    house.write({
      "memory/devices.md":
        "# Devices\n\nThe thing on the second floor that makes paper copies needs a printer driver.\n",
    });
    const memory = await house.open({
      embeddings:
        by === "words alone" ? undefined : placedEmbeddings((text) => (text.includes("paper copies") ? 0.6 : 0.97)),
      memorySearch: { sources: ["memory", "sessions"], chunking: { tokens: 60, overlap: 0 } },
    });
    expect(await memory.sync({ reason: "cli" })).toMatchObject({ added: 2, failed: [] });
    const count = memory.status().sourceCounts?.find(({ source }) => source === "sessions");
    expect(count?.chunks).toBeGreaterThan(500);

    const queries = by === "words alone" ? ["printer toner question"] : ["printer toner question", "something else"];
    for (const query of queries) {
      let report: SearchReport | undefined;
      const filtered = await memory.search(query, {
        sources: ["memory"],
        maxResults: 8,
        onDebug: (given) => (report = given),
      });
      expect(filtered[0]).toMatchObject({ path: "memory/devices.md", source: "memory" });
      expect(filtered.every(({ source }) => source === "memory")).toBe(true);
      expect(report).toMatchObject({
        state: "ok",
        sources: [{ source: "memory", candidates: 1, kept: 1 }],
        dropped: { source: 0 },
      });

      const { results, report: ofAll } = await ask(memory, query, { maxResults: 8 });
      expect(results.map((result) => result.path)).toContain("memory/devices.md");
      expect(results.filter(({ source }) => source === "sessions").length).toBeGreaterThan(0);
      expect(ofAll.sources).toEqual([
        { source: "memory", candidates: 1, kept: 1 },
        { source: "sessions", candidates: expect.any(Number) as number, kept: expect.any(Number) as number },
        { source: "journal", candidates: 0, kept: 0 },
      ]);
      expect(ofAll.sources?.[1]?.candidates).toBeGreaterThan(8);
      const sessionsOnly = await memory.search(query, { sources: ["sessions"], maxResults: 8 });
      expect(sessionsOnly.every(({ source }) => source === "sessions")).toBe(true);
    }
  },
);
