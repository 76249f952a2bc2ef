import { existsSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Writable } from "node:stream";
import { eventually } from "@memslot/test-tools/wait";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { runTour } from "../src/tour/run-tour.ts";
import { createScriptedModel } from "../src/tour/scripted-model.ts";
import type { TourParts } from "../src/tour/tour-context.ts";
import { type DemoPlace, createPlace, ended, runDemo, startDemo } from "./run-demo.ts";
import data from "./data/runs.json" with { type: "json" };

let place: DemoPlace;
beforeEach(() => {
  place = createPlace({ "notes/memory/boats.md": "# Boats\n\n- The gate code of the harbour is HX-19.\n" });
});

/** Waits until the process has printed a text. */
async function heard(stream: NodeJS.ReadableStream, wanted: string): Promise<void> {
  let text = "";
  stream.on("data", (chunk) => (text += String(chunk)));
  await eventually(() => text.includes(wanted), `"${wanted}" was printed`, 200_000);
}

describe("options", { timeout: 120_000 }, () => {
  const printer = "Which address is the printer pinned to?";

  test.each(
    data.runs as [string, string[], string | null, Record<"stdout" | "stderr", string> & { exitCode: number }][],
  )("%s", async (_, args, input, expected) => {
    const child = startDemo(place, args);
    const result = ended(child);
    if (input !== null) child.stdin.end(input);
    const { exitCode, stdout, stderr } = await result;
    expect(exitCode).toBe(expected.exitCode);
    expect(stdout).toMatch(new RegExp(expected.stdout));
    expect(stderr).toMatch(new RegExp(expected.stderr));
    expect(existsSync(path.join(place.rootDir, "no-such-folder"))).toBe(false);
  });

  test("--workspace answers from the user's notes and keeps the index in the user's state folder", async () => {
    const { exitCode, stdout, stderr } = await runDemo(place, "gate code of the harbour?\n", ["--workspace", "notes"]);
    expect(stdout).toContain("> The gate code of the harbour is HX-19.\n  memory/boats.md#L3-L3");
    expect(exitCode).toBe(0);
    expect(stderr).not.toContain("Try:");
    expect(readdirSync(place.homeDir)).toEqual([".memslot"]);
    expect(readdirSync(path.join(place.rootDir, "notes"))).toEqual(["memory"]);
  });

  test("the sample uses no configuration of the current folder and no index of the user's", async () => {
    writeFileSync(path.join(place.rootDir, "memslot.json5"), '{ plugins: { slots: { memory: "none" } } }');
    const [stateDir, config] = [path.join(place.rootDir, "state"), path.join(place.rootDir, "mine.json5")];
    writeFileSync(config, "{ this is broken");
    const env = { MEMSLOT_HOME: stateDir, MEMSLOT_CONFIG: config, MEMSLOT_WORKSPACE: place.homeDir };
    const { exitCode, stdout } = await runDemo(place, "", ["--ask", printer], env);
    expect(stdout).toContain("192.168.40.77");
    expect([exitCode, existsSync(stateDir)]).toEqual([0, false]);
  });
});

describe.skipIf(process.platform === "win32")("the end of a run", { timeout: 300_000 }, () => {
  test("Ctrl-C exits with 130 and removes the copy, also before the notes are read", async () => {
    for (const isReady of [true, false]) {
      const child = startDemo(place);
      const result = ended(child);
      if (isReady) await heard(child.stderr, "/quit");
      else await eventually(() => place.leftovers().length > 0, "the copy was created", 200_000);
      child.kill("SIGINT");
      expect(await result).toMatchObject({ exitCode: 130, stdout: "" });
      expect(place.leftovers()).toEqual([]);
    }
  });

  test("a reader that has seen enough ends it without a complaint", async () => {
    const child = startDemo(place);
    const result = ended(child);
    await heard(child.stderr, "/quit");
    child.stdout.destroy();
    child.stdin.end("printer\n".repeat(50));
    const { exitCode, stderr } = await result;
    expect(exitCode).toBe(0);
    expect(stderr).not.toMatch(/EPIPE|^error/m);
    expect(place.leftovers()).toEqual([]);
  });
});

describe("the tour", { timeout: 300_000 }, () => {
  test("plays every step, keeps every promise and leaves nothing behind", async () => {
    const { exitCode, stdout, stderr } = await runDemo(place, "", ["--tour"]);
    expect(stdout).not.toContain("FAILED");
    expect(stderr).toBe("");
    for (let step = 1; step <= 10; step += 1) expect(stdout).toMatch(new RegExp(`^ ?${step}/10 \\S`, "m"));
    expect(stdout).toMatch(/10 steps, all passed, in \d+\.\d s/);
    expect(exitCode).toBe(0);
    // Plain text, as no terminal shows it.
    expect(stdout).not.toContain("\u001B");
    expect(place.leftovers()).toEqual([]);
  });

  test.each(data.tourSignals as [NodeJS.Signals, number, number][])(
    "is ended by %s in step %d and leaves nothing behind",
    async (signal, step, code) => {
      // Nor does it use the user's settings: with this key and this address no step would succeed.
      const env = { OPENAI_API_KEY: "sk-no", OPENAI_BASE_URL: "http://127.0.0.1:9/v1", MEMSLOT_HOME: "/none" };
      const child = startDemo(place, ["--tour"], env);
      const end = ended(child);
      await heard(child.stdout, ` ${step}/10 `);
      child.kill(signal);
      const { exitCode, stdout } = await end;
      expect(exitCode).toBe(code);
      expect(stdout).not.toMatch(/FAILED|all passed/);
      expect(place.leftovers()).toEqual([]);
    },
  );

  async function tour(parts: Partial<TourParts>, signal = new AbortController().signal) {
    for (const name of ["TMPDIR", "TEMP", "TMP"]) vi.stubEnv(name, place.tmpDir);
    onTestFinished(() => void vi.unstubAllEnvs());
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

  const silentFlush: TourParts["createModel"] = (tokens) => {
    const model = createScriptedModel(tokens);
    const { complete } = model;
    return Object.assign(model, {
      complete: async (request: Parameters<typeof complete>[0]) => {
        const reply = await complete(request);
        const appends = reply.toolCalls.some(({ name }) => name === "memory_append");
        return appends ? { text: "NO_REPLY", toolCalls: [] } : reply;
      },
    });
  };
  test.each<[string, Partial<TourParts>, RegExp, number[]]>([
    [
      "a flush that writes nothing",
      { createModel: silentFlush },
      /FAILED {2}the flush has appended: undefined[^]*^10 steps, 3 failed, in /m,
      [4, 5, 6],
    ],
    [
      "a memory that cannot be opened",
      { openMemory: () => Promise.reject(new Error("no such disk")) },
      /FAILED {2}it comes to its end: no such disk[^]*10\/10/,
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    ],
  ])("with %s plays the other steps, ends with 1 and names the failed ones", async (_, parts, shown, steps) => {
    const { exitCode, text, failed } = await tour(parts);
    expect(text).toMatch(shown);
    expect([failed, exitCode]).toEqual([steps, 1]);
    // LanceDB's library has a folder of its own there until the process ends.
    expect(readdirSync(place.tmpDir).filter((name) => name.startsWith("memslot"))).toEqual([]);
  });

  test("that was aborted before it began writes nothing and ends with 130", async () => {
    const { exitCode, text } = await tour({}, AbortSignal.abort());
    expect([exitCode, text, readdirSync(place.tmpDir)]).toEqual([130, "", []]);
  });
});
