import { describe, expect, test } from "vitest";
import { result, runWithBackend } from "./run-with-backend.ts";

const status = {
  backend: "stub",
  provider: "openai",
  model: "m",
  requestedProvider: "auto",
  files: 12,
  chunks: 40,
  dirty: false,
  dbPath: "/state/main.sqlite",
  sources: ["memory", "sessions"],
  sourceCounts: [
    {
      source: "memory",
      files: 10,
      chunks: 30,
      bytes: 52_000,
      chunkBytes: 50_000,
      eligible: 11,
      issues: ["memory/a.md: torn"],
    },
    {
      source: "sessions",
      files: 2,
      chunks: 10,
      bytes: 1_500_000,
      chunkBytes: 1,
      eligible: null,
      issues: ["sessions/x.jsonl: line 3 is broken"],
    },
  ],
  roots: [{ path: "memory", state: "indexed", files: 10 }],
  cache: { enabled: true, entries: 40, maxEntries: 50_000 },
  fts: { enabled: true, available: true },
  vector: {
    enabled: true,
    available: true,
    storeAvailable: true,
    semanticAvailable: true,
    index: { state: "complete" },
    dims: 768,
    embedded: 40,
  },
  batch: { enabled: true, wait: true, concurrency: 2, pollIntervalMs: 2000, timeoutMs: 3_600_000 },
  storage: {
    databaseBytes: 4_200_000,
    walBytes: 100_000,
    reusableBytes: 300_000,
    embeddingCacheBytes: 122_880,
    embeddingCacheEntries: 40,
  },
  generation: {
    id: 3,
    builtAt: "2026-03-14T09:05:00",
    next: {
      id: 4,
      startedAt: "2026-03-15T10:00:00",
      files: 120,
      totalFiles: 500,
      waitingFor: "80 vectors are missing",
    },
  },
  writer: {
    pid: 1234,
    host: "alder",
    reason: "cli",
    since: "2026-03-15T10:00:00",
    completed: 120,
    total: 500,
    label: "memory/a.md",
  },
  watch: { mode: "folders", folders: 7 },
  lastSync: {
    reason: "watch",
    finishedAt: "2026-03-15T10:01:00",
    durationMs: 1240,
    report: { added: 2, changed: 0, removed: 1, unchanged: 8, failed: [{ path: "memory/a.md", reason: "torn" }] },
  },
  lastError: { message: "the disk is on strike", at: "2026-03-15T10:02:00" },
};
const withStatus = `status() { return ${JSON.stringify(status)}; },`;
const findings = [
  { name: "files", ok: true, message: "12 files, 40 chunks" },
  { name: "words", ok: false, message: "2 of 40 chunks are missing" },
];
const tables = [
  { name: "chunks", bytes: 2_000_000 },
  { name: "files", bytes: 900 },
];
const withCheck = `async check({ fix }) {
  const findings = ${JSON.stringify(findings)};
  if (fix) Object.assign(findings[1], { ok: true, fixed: "the words of 2 chunks were made anew" });
  return { ok: fix, findings, tables: ${JSON.stringify(tables)} };
},`;
/** What another copy of the core throws: told by its mark. */
const busy = `async () => {
  throw Object.assign(new Error("process 1234 on alder is indexing: 120 of 500 files, since 10:00"), {
    code: "BUSY",
    [Symbol.for("memslot.MemoryError")]: true,
  });
}`;

describe("memslot memory status", () => {
  test("has a line for each thing that is known of the index", async () => {
    const [shown] = await runWithBackend(withStatus, ["memory", "status"]);
    expect(shown?.exitCode).toBe(0);
    for (const line of [
      /^By source: +memory 10\/11 files · 30 chunks · 52\.0 kB, sessions 2 files · 10 chunks · 1\.5 MB$/mu,
      /^Generation: +3, built 2026-03-14 09:05$/mu,
      /^Rebuild: +generation 4, 120 of 500 files, begun 2026-03-15 10:00; 80 vectors are missing$/mu,
      /^At work: +process 1234 on alder is indexing \(cli\): 120 of 500 files, since 2026-03-15 10:00$/mu,
      /^Watching: +off: a command does not watch; /mu,
      /^Last sync: +2026-03-15 10:01 \(watch, 1\.2 s\): 2 added, 1 removed, 8 unchanged, 1 failed$/mu,
      /^Last error: +the disk is on strike \(2026-03-15 10:02\)$/mu,
      /^Store: +\/state\/main\.sqlite \(4\.3 MB, 300\.0 kB of it free\)$/mu,
      /^Batches: +on, 2 at a time, looked at every 2 s, waited for, at most 60 min$/mu,
      /^Meaning: +answers \(all chunks have a vector\)$/mu,
      /^Embedding cache: +40 vectors of at most 50000 \(122\.9 kB\)$/mu,
      /^ {2}memory\/a\.md: torn$/mu,
      /^ {2}sessions\/x\.jsonl: line 3 is broken$/mu,
    ])
      expect(shown?.stdout).toMatch(line);
  });

  test("calls nothing sound that was not checked", async () => {
    const [shown] = await runWithBackend(
      `status() { return { backend: "stub", provider: "openai", files: 1, vector: { enabled: true, semanticAvailable: false, index: { state: "unverified" } } }; },`,
      ["memory", "status"],
    );
    expect(shown?.stdout).toMatch(/^Dirty: +not checked/mu);
    expect(shown?.stdout).toMatch(/^Index check: +not checked/mu);
    expect(shown?.stdout).toMatch(/^Embeddings: +not tried/mu);
    expect(shown?.stdout).toMatch(/^Meaning: +not checked \(vectors not counted\)$/mu);
    expect(shown?.stdout).toMatch(/^Vector store: +not tried/mu);
    expect(shown?.stdout).not.toContain("ready");
  });

  test("passes every field on in JSON, under the field's names", async () => {
    const [json] = await runWithBackend(withStatus, ["memory", "status", "--json"]);
    const [entry] = JSON.parse(json?.stdout ?? "");
    const { watch: _watch, ...recorded } = status;
    expect(entry.status).toMatchObject(recorded);
    expect(entry.scan.sources).toEqual([
      { source: "memory", totalFiles: 11, issues: ["memory/a.md: torn"] },
      { source: "sessions", totalFiles: 2, issues: ["sessions/x.jsonl: line 3 is broken"] },
    ]);
  });

  test("--deep lists what is wrong, with the bytes of each table, and ends with 1", async () => {
    const [human, json] = await runWithBackend(
      withCheck,
      ["memory", "status", "--deep"],
      ["memory", "status", "--deep", "--json"],
    );
    expect(human?.exitCode).toBe(1);
    expect(human?.stdout).toMatch(
      /^Index check:\n {2}ok {5}files {2}12 files, 40 chunks\n {2}wrong {2}words {2}2 of 40 chunks are missing\n {2}memslot memory status --fix mends it\.$/mu,
    );
    expect(human?.stdout).toMatch(/^Tables:\n {2}chunks +2\.0 MB\n {2}files +900 B$/mu);
    expect(json?.exitCode).toBe(1);
    expect(JSON.parse(json?.stdout ?? "")[0].check).toEqual({ ok: false, findings, tables });
  });

  test("--fix has it mended, says so and ends with 0", async () => {
    const [human] = await runWithBackend(withCheck, ["memory", "status", "--fix"]);
    expect(human?.exitCode).toBe(0);
    expect(human?.stdout).toMatch(/^ {2}mended {1,2}words {2}2 of 40 .*; the words of 2 chunks were made anew$/mu);
    expect(human?.stdout).not.toContain("--fix");
  });

  test("shows what it can where the check fails, and ends with the code of the failure", async () => {
    const [human, json] = await runWithBackend(
      `check: ${busy},`,
      ["memory", "status", "--fix"],
      ["memory", "status", "--fix", "--json"],
    );
    expect(human?.exitCode).toBe(4);
    expect(human?.stdout).toMatch(/^Index check: +could not be made: process 1234 on alder is indexing/mu);
    expect(JSON.parse(json?.stdout ?? "")[0]).toMatchObject({
      status: { files: 1 },
      checkError: expect.stringContaining("process 1234"),
    });
  });
});

describe("memslot memory compact", () => {
  test("tells the bytes before and after, for people and in JSON", async () => {
    const [human, json] = await runWithBackend(
      "async compact() { return { beforeBytes: 12_300_000, afterBytes: 4_500_000 }; },",
      ["memory", "compact"],
      ["memory", "compact", "--json"],
    );
    expect(human).toMatchObject({
      exitCode: 0,
      stdout: "12.3 MB before, 4.5 MB after: 7.8 MB given back\n",
      stderr: "",
    });
    expect(JSON.parse(json?.stdout ?? "")).toEqual([
      { agentId: "main", beforeBytes: 12_300_000, afterBytes: 4_500_000 },
    ]);
  });

  test("says so where there is nothing to give back, or no file of its own", async () => {
    const [nothing] = await runWithBackend("async compact() { return { beforeBytes: 5000, afterBytes: 5000 }; },", [
      "memory",
      "compact",
    ]);
    expect(nothing).toMatchObject({ exitCode: 0, stdout: "5.0 kB: there is nothing to give back\n" });
    const [none] = await runWithBackend("", ["memory", "compact"]);
    expect(none).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("backend stub keeps no file") });
  });

  test("ends with 4 where another process is at work", async () => {
    const [human, json] = await runWithBackend(
      `compact: ${busy},`,
      ["memory", "compact"],
      ["memory", "compact", "--json"],
    );
    expect(human).toMatchObject({ exitCode: 4, stdout: "", stderr: expect.stringContaining("process 1234 on alder") });
    expect(json?.exitCode).toBe(4);
    expect(JSON.parse(json?.stdout ?? "")).toMatchObject([{ ok: false, error: { code: "BUSY" }, agentId: "main" }]);
  });
});

describe("another process at work", () => {
  test("ends memslot memory index with 4, with its name and the way to wait for it", async () => {
    const [index] = await runWithBackend(`sync: ${busy},`, ["memory", "index"]);
    expect(index).toMatchObject({ exitCode: 4, stdout: "" });
    expect(index?.stderr).toContain("process 1234 on alder is indexing: 120 of 500 files");
    expect(index?.stderr).toContain("memslot memory index --wait");
  });

  test("is waited for with --wait only, and never by a search, a status or doctor", async () => {
    const said = `async sync({ wait, reason }) { process.stderr.write(\`wait \${wait} for \${reason}\\n\`); },`;
    const [waiting, not, search, state, doctor] = await runWithBackend(
      said,
      ["memory", "index", "--wait"],
      ["memory", "index"],
      ["memory", "search", "x"],
      ["memory", "status", "--index"],
      ["doctor"],
    );
    expect(waiting?.stderr).toBe("wait true for cli\n");
    expect(not?.stderr).toBe("wait false for cli\n");
    expect(search?.stderr).toBe("wait false for search\n");
    expect(state?.stderr).toBe("wait false for cli\n");
    expect(doctor?.stderr).toBe("wait false for cli\n");
  });

  test("leaves a search with an answer that is called stale and says who is at work", async () => {
    const [human, json] = await runWithBackend(
      `sync: ${busy}, ${withStatus}`,
      ["memory", "search", "x"],
      ["memory", "search", "x", "--json"],
    );
    expect(human).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^0\.900 .*MEMORY\.md:1\n1- From before\.\n$/u),
    });
    expect(human?.stderr).toMatch(/may be incomplete: the memory is stale, process 1234 on alder is indexing/u);
    expect(JSON.parse(json?.stdout ?? "")).toMatchObject({
      results: [result],
      state: "stale",
      writer: { pid: 1234, completed: 120 },
      reason: expect.stringContaining("process 1234 on alder"),
    });
  });

  test("is named by memslot doctor, and a fault of the index fails it", async () => {
    const [doctor] = await runWithBackend(`${withStatus} ${withCheck}`, ["doctor"]);
    expect(doctor?.exitCode).toBe(1);
    expect(doctor?.stdout).toMatch(/^ok +writer +process 1234 on alder is indexing \(cli\): 120 of 500 files/mu);
    expect(doctor?.stdout).toMatch(
      /^fail +index +words: 2 of 40 chunks are missing\n +→ .*memslot memory status --fix/mu,
    );
  });
});
