import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type DemoPlace, createPlace, ended, heard, runDemo, startDemo } from "../run-demo.ts";

let place: DemoPlace;
beforeEach(async () => {
  place = await createPlace();
});
afterEach(() => place.remove());

describe("npm start -- --tour", { timeout: 300_000 }, () => {
  test("plays every step, holds every promise and leaves nothing behind", async () => {
    const { exitCode, stdout, stderr } = await runDemo(place, "", ["--tour"]);
    expect(stdout).not.toContain("FAILED");
    expect(stderr).toBe("");
    for (let step = 1; step <= 10; step += 1) expect(stdout).toMatch(new RegExp(`^ ?${step}/10 \\S`, "m"));
    expect(stdout).toMatch(/10 steps, all held, in \d+\.\d s/);
    expect(exitCode).toBe(0);
    // Plain text where nobody watches.
    expect(stdout).not.toContain("\u001B");
    expect(await place.leftovers()).toEqual([]);
  });

  test.each([
    ["SIGINT", 4, 130],
    ["SIGINT", 8, 130],
    ["SIGTERM", 6, 143],
  ] as const)("%s in step %d ends it and leaves nothing behind", async (signal, step, code) => {
    // Nothing of the user's is used either: with this key and this address no step would hold.
    const env = {
      OPENAI_API_KEY: "sk-not-for-the-tour",
      OPENAI_BASE_URL: "http://127.0.0.1:9/v1",
      MEMSLOT_HOME: "/none",
    };
    const child = startDemo(place, ["--tour"], env);
    const end = ended(child);
    await heard(child.stdout, ` ${step}/10 `);
    child.kill(signal);
    const { exitCode, stdout } = await end;
    expect(exitCode).toBe(code);
    expect(stdout).not.toMatch(/FAILED|all held/);
    expect(await place.leftovers()).toEqual([]);
  });
});
