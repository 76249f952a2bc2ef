import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startFakeChatServer } from "@memslot/fakes/chat";
import { type DemoPlace, createPlace, ended, heard, startDemo } from "./run-demo.ts";

let place: DemoPlace;
beforeEach(async () => {
  place = await createPlace();
});
afterEach(async () => place.remove());

describe.skipIf(process.platform === "win32")("the end of a run", () => {
  test("Ctrl-C exits with 130 and removes the copy", async () => {
    const child = startDemo(place);
    const result = ended(child);
    await heard(child.stderr, "/quit");
    expect(await place.leftovers()).toHaveLength(1);
    child.kill("SIGINT");
    expect(await result).toMatchObject({ exitCode: 130, stdout: "" });
    expect(await place.leftovers()).toEqual([]);
  });

  test("Ctrl-C before the notes are read does the same", async () => {
    const child = startDemo(place);
    const result = ended(child);
    while ((await place.leftovers()).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    child.kill("SIGINT");
    expect(await result).toMatchObject({ exitCode: 130, stdout: "" });
    expect(await place.leftovers()).toEqual([]);
  });

  test("Ctrl-C while a model answers ends the request", async () => {
    const endpoint = await startFakeChatServer(() => "hang");
    try {
      const child = startDemo(place, [], { OPENAI_BASE_URL: endpoint.baseUrl });
      const result = ended(child);
      child.stdin.write("hello\n");
      while (endpoint.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      child.kill("SIGINT");
      expect(await result).toMatchObject({ exitCode: 130, stdout: "" });
      expect(await place.leftovers()).toEqual([]);
    } finally {
      await endpoint.close();
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
    expect(await place.leftovers()).toEqual([]);
  });
});
