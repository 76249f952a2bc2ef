import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { startChild } from "@memslot/test-tools/child";
import { tempFolder } from "@memslot/test-tools/files";
import { type EmbeddingApi, startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { describe, expect, onTestFinished, test } from "vitest";
import { buildFileFaults, faultEnvironment, linesOf } from "../support/file-faults.ts";
import { type House, indexFile, useHouse } from "../support/temp-workspace.ts";
import { contentOf, integrityOf, strayFiles } from "../support/sqlite-index-content.ts";
import { noteName, twoPartNotes } from "../support/generated-notes.ts";
import { expectOneBuildAnswers, rebuilds } from "../support/rebuild-checks.ts";
import { type CliRun, runCli } from "../support/run-command.ts";
import { type RemoteMemory, resultOf } from "../support/start-memory.ts";
import { stormSize } from "../support/storm-size.ts";

const soakSeconds = stormSize(60);
const programs = new URL("../support/programs.ts", import.meta.url);
const fileCount = 200;

const faults = buildFileFaults(tempFolder());
const library = typeof faults === "string" ? "" : faults.library;
const unless = typeof faults === "string" ? ` (not run: ${faults})` : "";

interface Town extends House {
  api: EmbeddingApi;
  cli(...args: string[]): Promise<CliRun>;
  agent(): RemoteMemory;
}

/** A house that an agent and the command line share, with a provider that they both know. */
async function useTown(): Promise<Town> {
  const api = await startEmbeddingApi({ dimensions: 32 });
  onTestFinished(() => api.close());
  const house = useHouse();
  const memorySearch = {
    provider: "openai",
    model: "model-a",
    sync: { watchDebounceMs: 100 },
    store: { path: path.join(house.indexFolder, "main.sqlite") },
  };
  const models = { providers: { openai: { apiKey: "sk-of-the-test", baseUrl: `${api.url}/v1` } } };
  const config = path.join(house.folder, "memslot.json");
  writeFileSync(config, JSON.stringify({ agents: { defaults: { workspace: house.notes, memorySearch } }, models }));
  const ends = new AbortController();
  onTestFinished(() => ends.abort());
  house.write(twoPartNotes(fileCount));
  house.letSettle();
  return {
    ...house,
    api,
    cli: (...args) => runCli(args, { stateDir: house.stateDir, config, signal: ends.signal }),
    agent: () => house.start({ memorySearch, config: { models } }),
  };
}

/** What a process that appends to a file is called, and how to end it: gives the number of its lines. */
function startWriter(file: string, name: string): () => Promise<number> {
  const { process: child, rest } = startChild(programs, ["append-lines", file, name, "25"]);
  return async () => {
    child.stdin?.end();
    return Number(await rest("count "));
  };
}

/** The entries of one writer, in the order in which a text holds them. */
function entriesOf(name: string, text: string): number[] {
  return [...text.matchAll(new RegExp(`- ${name} wrote entry(\\d+) of ${name}\\.`, "gu"))].map(([, entry]) =>
    Number(entry),
  );
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

describe("several processes on one index", { timeout: soakSeconds * 1000 + 180_000 }, () => {
  test(`for ${soakSeconds} s: an agent that watches, rebuilds, searches and two writers of one log`, async () => {
    const town = await useTown();
    const agent = town.agent();
    resultOf(await agent.open());
    resultOf(await agent.sync());
    const log = `memory/${new Date().toLocaleDateString("sv-SE")}.md`;
    town.write({ [log]: "# Today\n\n" });
    const endOf = ["anna", "bruno"].map((name) => startWriter(path.join(town.notes, log), name));

    const until = Date.now() + soakSeconds * 1000;
    const repeat = async <Outcome>(work: () => Promise<Outcome>): Promise<Outcome[]> => {
      const outcomes: Outcome[] = [];
      do outcomes.push(await work());
      while (Date.now() < until);
      return outcomes;
    };
    const [searches, rebuilds, asked] = await Promise.all([
      repeat(() => town.cli("memory", "search", "word77", "--json")),
      repeat(() => town.cli("memory", "index", "--force")),
      repeat(async () => resultOf(await agent.search("word177"))),
    ]);
    const [anna = 0, bruno = 0] = await Promise.all(endOf.map((end) => end()));

    for (const { exitCode, stdout, stderr } of searches) {
      expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
      expect(`${stdout} ${stderr}`).not.toMatch(/database is locked|SQLITE_/iu);
      expect((JSON.parse(stdout) as { results: { path: string }[] }).results[0]?.path).toBe(noteName(77));
    }
    for (const { exitCode, stdout, stderr } of rebuilds) {
      expect(`${stdout} ${stderr}`).not.toMatch(/database is locked|SQLITE_/iu);
      expect([0, 4]).toContain(exitCode);
      if (exitCode === 4) expect(stderr).toMatch(/process \d+ /u);
    }
    expect(rebuilds.filter(({ exitCode }) => exitCode === 0).length).toBeGreaterThan(0);
    for (const { results } of asked) expect(results[0]?.path).toBe(noteName(177));
    expect(`${agent.stderr()} ${agent.notices.join(" ")}`.trim()).toBe("");

    // All that was written is in the file and in the index, in the order of each writer.
    expect(anna * bruno).toBeGreaterThan(0);
    expect(resultOf(await agent.sync({ reason: "cli" }))).toMatchObject({ failed: [] });
    expect(resultOf(await agent.check())).toMatchObject({ ok: true });
    expect(resultOf(await agent.search(`entry${anna} of anna`)).results[0]?.path).toBe(log);
    resultOf(await agent.close());
    const file = readFileSync(path.join(town.notes, log), "utf8");
    const content = contentOf(indexFile(town));
    const ofLog = content.chunks.filter((chunk) => chunk.path === log);
    for (const [name, count] of [
      ["anna", anna],
      ["bruno", bruno],
    ] as const) {
      expect(entriesOf(name, file)).toEqual(upTo(count));
      // Chunks repeat the end of the one before.
      const indexed = new Set(ofLog.flatMap(({ text }) => entriesOf(name, text)));
      expect([...indexed]).toEqual(upTo(count));
    }
    expect(content.files).toHaveLength(fileCount + 1);
    expect(content.chunks.every(({ vectors }) => vectors.length === 1)).toBe(true);
    expect(integrityOf(indexFile(town))).toEqual(["ok"]);
    expect(strayFiles(indexFile(town))).toEqual([]);
  });

  test.skipIf(library === "")(`a search of what has not changed writes nothing${unless}`, async () => {
    const house = useHouse();
    house.write(twoPartNotes(20));
    house.letSettle();
    const writer = house.start({ model: "model-a" });
    resultOf(await writer.open());
    resultOf(await writer.sync());
    // The first search in a space lays its vectors out.
    resultOf(await writer.search("word7"));
    resultOf(await writer.close());
    const log = path.join(house.folder, "changes.log");
    const on = ["write", "truncate"] as const;
    const reader = house.start(
      { model: "model-a" },
      { env: faultEnvironment(library, { below: house.indexFolder, on, log }) },
    );
    resultOf(await reader.open());
    for (const word of ["word7", "piano", "nothing of the kind"]) resultOf(await reader.search(word));
    // Only the memory that the processes share, which is not kept.
    expect(linesOf(log).filter((line) => !line.endsWith("-shm"))).toEqual([]);
    resultOf(await reader.close());
    expect(linesOf(log).filter((line) => !line.endsWith("-shm"))).toEqual([]);
  });
});

test.each(rebuilds)(
  "while a rebuild for $what is under way every answer is of the build that is whole, and of what was saved since",
  (rebuild) => expectOneBuildAnswers(rebuild),
);
