import { readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { SyncProgress } from "@memslot/core";
import { describe, expect, test } from "vitest";
import type { BatchRunOptions } from "./batch-jobs.ts";
import { listBatchJobs } from "./job-table.ts";
import { tempFolder } from "@memslot/test-tools/files";
import { batchBench } from "./test/batch-bench.ts";
import { expectFilled, fillWith } from "../requests/test/scripted-requests.ts";
import { scriptedBatches } from "./test/batch-bench.ts";
import { hashOf, space, texts } from "../../../test/support/space-store.ts";
import tables from "./test/jobs.json" with { type: "json" };

describe("batch jobs", () => {
  test("make every vector, in jobs as large as allowed, so many at one time as allowed, with no direct call", async () => {
    const { store, batches, requests, run, calls, lines, files } = await batchBench(texts(520));
    expect(await run()).toBeUndefined();
    expectFilled(store, texts(520));
    expect([...batches.jobs.values()].map(({ length }) => length)).toEqual([100, 100, 100, 100, 100, 20]);
    expect(calls("collect")).toHaveLength(6);
    expect(batches.mostRunning).toBe(2);
    expect([requests.sent, lines, files()]).toEqual([[], [], []]);
  });

  test("are cleared away on the other side when their vectors are stored, and not before", async () => {
    const { store, batches, run, calls } = await batchBench(texts(150));
    const stored: number[] = [];
    batches.beforeDiscard = () => void stored.push(store.vectors.size);
    expect(await run()).toBeUndefined();
    expect(calls("discard")).toEqual(["discard job-1", "discard job-2"]);
    expect(stored.toSorted((a, b) => a - b)).toEqual([100, 150]);
  });

  test("hold no more bytes than allowed", async () => {
    const { store, batches, run } = await batchBench(texts(30, 100), { maxBytes: 1000 });
    expect(await run()).toBeUndefined();
    expect([...batches.jobs.values()].map(({ length }) => length)).toEqual([10, 10, 10]);
    expectFilled(store, texts(30, 100));
  });

  test("are asked about once in each interval, and show that they are at work", async () => {
    const { batches, clock, run, calls } = await batchBench(texts(50));
    batches.scripts = [{ polls: 10, completed: 20 }];
    const started = clock.time;
    const updates: SyncProgress[] = [];
    expect(await run({ progress: (update) => void updates.push(update) })).toBeUndefined();
    expect(calls("state")).toHaveLength(11);
    expect(clock.time - started).toBe(11 * 2000);
    expect(updates.filter(({ completed }) => completed === 20).length).toBeGreaterThan(8);
    expect(new Set(updates.map(({ total }) => total))).toEqual(new Set([50]));
    expect(updates.at(-1)).toEqual({ completed: 50, total: 50, label: "embedding with scripted" });
  });

  test("are counted with the tokens that they say, or else with what was estimated", async () => {
    for (const says of [777, undefined]) {
      const { batches, requests, run } = await batchBench(texts(60, 40));
      batches.says = says;
      await run();
      expect(requests.usage).toEqual([{ reason: "test", requests: 1, tokens: says ?? 600 }]);
    }
  });

  test("are written down as long as they are on their way, for their owner alone", async () => {
    const { batches, stateDir, run, files } = await batchBench(texts(150));
    expect(await run({}, { wait: false })).toMatchObject({ chunks: 150 });
    expect(files()).toHaveLength(2);
    const kept = files().map((name) => {
      const file = path.join(stateDir, "embeddings", "jobs", name);
      if (process.platform !== "win32") expect(statSync(file).mode & 0o777).toBe(0o600);
      return JSON.parse(readFileSync(file, "utf8")) as { job: string };
    });
    expect(kept.toSorted((a, b) => (a.job < b.job ? -1 : 1))).toEqual(
      ["job-1", "job-2"].map((job) => ({
        job,
        agentId: "main",
        space,
        hashes: batches.jobs.get(job)?.map((text) => hashOf(text)),
        tokens: expect.any(Number) as number,
        failures: 0,
        submittedAt: "2026-03-05T10:00:00.000Z",
      })),
    );
    expect(listBatchJobs({ stateDir, agentId: "main" })).toMatchObject([{ texts: 100 }, { texts: 50 }]);
    expect(listBatchJobs({ stateDir, agentId: "other" })).toEqual([]);
    expect(listBatchJobs({ stateDir: tempFolder(), agentId: "main" })).toEqual([]);
  });

  test("for a few texts are not worth the waiting", async () => {
    const { batches, requests, store, run } = await batchBench(texts(105));
    expect(await run({}, {}, 50)).toBeUndefined();
    expect([...batches.jobs.values()].map(({ length }) => length)).toEqual([100]);
    expect(requests.sent.flat()).toHaveLength(5);
    expectFilled(store, texts(105));
  });

  test("without `wait` are left alone, and collected by the next run", async () => {
    const { store, batches, clock, run, calls } = await batchBench(texts(350));
    const started = clock.time;
    const left = await run({}, { wait: false });
    expect(left).toEqual({ chunks: 350, reason: "200 texts are with the provider's batch interface" });
    expect([calls("submit").length, calls("state").length, clock.time - started]).toEqual([2, 0, 0]);
    batches.set("job-1", {});
    batches.set("job-2", { polls: 100 });
    const next = await run({}, { wait: false });
    expect(next).toEqual({ chunks: 250, reason: "200 texts are with the provider's batch interface" });
    expect([calls("submit").length, calls("state").length, calls("collect").length]).toEqual([3, 2, 1]);
    expect(store.vectors.size).toBe(100);
    for (const job of ["job-2", "job-3", "job-4"]) batches.set(job, {});
    expect(await run({}, { wait: false })).toMatchObject({ chunks: 50 });
    batches.set("job-4", {});
    expect(await run({}, { wait: false })).toBeUndefined();
    expectFilled(store, texts(350));
    expect(calls("submit")).toHaveLength(4);
  });
});

describe("jobs of an earlier run", () => {
  test("are picked up before anything is submitted, and no text is sent twice", async () => {
    const { store, batches, requests, run, calls } = await batchBench(texts(250));
    const controller = new AbortController();
    const reason = new Error("closing");
    const progress = (): void => void (batches.jobs.size === 2 && controller.abort(reason));
    await expect(run({ signal: controller.signal, progress })).rejects.toBe(reason);
    expect(calls("submit")).toHaveLength(2);
    batches.calls.length = 0;
    await store.add(texts(30, 10, "new"));
    expect(await run()).toBeUndefined();
    expect(batches.calls.slice(0, 2)).toEqual(["state job-1", "state job-2"]);
    const sent = [...batches.jobs.values()].flat();
    expect(sent.toSorted()).toEqual([...texts(250), ...texts(30, 10, "new")].toSorted());
    expect(requests.sent).toEqual([]);
    expectFilled(store, sent);
  });

  test("of another space or agent are left alone", async () => {
    const { store, batches, stateDir, run, calls } = await batchBench(texts(10));
    const folder = path.join(stateDir, "embeddings", "jobs");
    await run({}, { wait: false });
    const [mine = ""] = readdirSync(folder);
    const record = JSON.parse(readFileSync(path.join(folder, mine), "utf8")) as Record<string, unknown>;
    const others = [
      { agentId: "other" },
      { space: { ...space, model: "m2" } },
      { space: { ...space, dimensions: 9 } },
      { space: { ...space, providerKey: "k" } },
    ];
    for (const [index, change] of others.entries())
      writeFileSync(
        path.join(folder, `${index}.json`),
        JSON.stringify({ ...record, job: `foreign-${index}`, ...change }),
      );
    batches.calls.length = 0;
    expect(await run()).toBeUndefined();
    expect(calls("state").filter((call) => call.includes("foreign"))).toEqual([]);
    expect(readdirSync(folder).toSorted()).toEqual(["0.json", "1.json", "2.json", "3.json"]);
    expectFilled(store, texts(10));
  });

  test("that the other side does not know any more are dropped, and their texts sent again", async () => {
    const first = await batchBench(texts(10));
    await first.run({}, { wait: false });
    const forgetful = scriptedBatches();
    const batch: BatchRunOptions = {
      batches: forgetful,
      settings: { enabled: true, wait: true, concurrency: 2, pollIntervalMs: 1, timeoutMinutes: 60 },
      stateDir: first.stateDir,
      agentId: "main",
      notify: (line) => void first.lines.push(line),
    };
    expect(await fillWith(first.store, first.requests, { batch })).toBeUndefined();
    expect(forgetful.calls).toEqual(tables.callsOfForgetful);
    expect([first.files(), first.lines, first.requests.sent]).toEqual([[], [], []]);
    expectFilled(first.store, texts(10));
  });

  test("whose records are damaged are passed over with a word", async () => {
    const { stateDir, store, lines, run } = await batchBench(texts(10));
    await run({}, { wait: false });
    const folder = path.join(stateDir, "embeddings", "jobs");
    writeFileSync(path.join(folder, "a.json"), '{"job": "x"');
    writeFileSync(path.join(folder, "b.json"), '{"job": "x"}');
    writeFileSync(path.join(folder, "c.json.1.tmp"), "half");
    // As one that is collected by somebody else just now.
    symlinkSync(path.join(folder, "gone"), path.join(folder, "d.json"));
    expect(await run()).toBeUndefined();
    expectFilled(store, texts(10));
    expect(lines.map((line) => line.replace(folder, ""))).toEqual([
      expect.stringMatching(/a\.json cannot be read/),
      expect.stringMatching(/b\.json is no record of a batch job/),
    ]);
  });

  test("that cannot be written down are finished all the same", async () => {
    const { stateDir, store, lines, requests, run } = await batchBench(texts(10));
    writeFileSync(path.join(stateDir, "embeddings"), "in the way");
    expect(await run()).toBeUndefined();
    expectFilled(store, texts(10));
    expect(lines).toEqual([expect.stringMatching(/^the batch job job-1 cannot be written down/)]);
    expect(requests.usage).toHaveLength(1);
  });
});
