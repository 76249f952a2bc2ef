import { readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { Writable } from "node:stream";
import { openMemory } from "memslot";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { runTour } from "./run-tour.ts";
import { createScriptedModel } from "./scripted-model.ts";
import type { TourParts } from "./tour.ts";
import { type DemoPlace, createPlace } from "../../test/run-demo.ts";

let place: DemoPlace;
beforeEach(async () => {
  place = await createPlace();
  for (const name of ["TMPDIR", "TEMP", "TMP"]) vi.stubEnv(name, place.tmpDir);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await place.remove();
});

async function tour(parts: Partial<TourParts>, signal = new AbortController().signal) {
  let text = "";
  const output = new Writable({
    write: (chunk, _encoding, done) => {
      text += String(chunk);
      done();
    },
  });
  const exitCode = await runTour({ output, signal, fast: true, parts });
  return { exitCode, text, failed: [...text.matchAll(/^ +FAILED {2}(\d+) /gm)].map(([, step]) => Number(step)) };
}

describe("a tour with a broken part ends with 1 and names the steps", { timeout: 300_000 }, () => {
  test("a flush that writes nothing", async () => {
    const { exitCode, text, failed } = await tour({
      createModel: (tokens) => {
        const model = createScriptedModel(tokens);
        const complete = model.complete;
        return Object.assign(model, {
          complete: async (request: Parameters<typeof complete>[0]) => {
            const reply = await complete(request);
            return reply.toolCalls.some(({ name }) => name === "memory_append")
              ? { text: "NO_REPLY", toolCalls: [] }
              : reply;
          },
        });
      },
    });
    expect(text).toMatch(/FAILED {2}the flush has appended: undefined/);
    expect(failed).toEqual([4, 5, 6]);
    expect(text).toMatch(/^10 steps, 3 failed, in /m);
    expect(exitCode).toBe(1);
    // The library of LanceDB has a folder of its own there until the process ends.
    expect((await readdir(place.tmpDir)).filter((name) => name.startsWith("memslot"))).toEqual([]);
  });

  test("a backend that empties a note while it reads it", async () => {
    const { exitCode, text, failed } = await tour({
      openMemory: async (options) => {
        const memory = await openMemory(options);
        const sync: typeof memory.sync = async (params) => {
          await writeFile(path.join(memory.workspaceDir, "memory", "2026-03-03.md"), "").catch(() => undefined);
          return await memory.sync(params);
        };
        return { ...memory, sync };
      },
    });
    expect(text).toMatch(/FAILED {2}the citation names the lines that were written: '奶奶.*' is not in ''/);
    expect(failed).toEqual([1, 2]);
    expect(exitCode).toBe(1);
  });

  test("a part that throws fails its step, and the steps behind it are still played", async () => {
    const { exitCode, text, failed } = await tour({
      openMemory: async () => {
        throw new Error("no such disk");
      },
    });
    expect(text).toContain("FAILED  it comes to its end: no such disk");
    expect(text).toContain("10/10");
    expect(failed).toHaveLength(10);
    expect(exitCode).toBe(1);
  });
});

test("a tour that was aborted before it began writes nothing and ends with 130", async () => {
  const { exitCode, text } = await tour({}, AbortSignal.abort());
  expect([exitCode, text]).toEqual([130, ""]);
  expect(await readdir(place.tmpDir)).toEqual([]);
});
