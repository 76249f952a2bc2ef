import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { startChild } from "@memslot/test-tools/child";
import { isRunning } from "@memslot/test-tools/child";
import { eventually } from "@memslot/test-tools/wait";
import { tempFolder, tinyModel } from "./test/lab.ts";

describe("kill -9 of the host ends the process that runs its model", () => {
  test.each(["stay", "busy"])("when the model is loaded (%s)", async (what) => {
    const host = startChild(
      new URL("./test/embed-and-stay.ts", import.meta.url),
      [tinyModel({ layers: 6, dimensions: 128 }), what],
      { detached: true },
    );
    const pid = Number(await host.rest("model process "));
    host.process.kill("SIGKILL");
    await host.ended;
    await eventually(() => !isRunning(pid));
    expect(isRunning(pid)).toBe(false);
  });

  test.each([
    ["while the model is being loaded", "await new Promise(() => {});"],
    ["when native code does not come back", "for (;;);"],
  ])("%s", async (_name, body) => {
    const folder = tempFolder();
    const [module, begun] = [join(folder, "llama.mjs"), join(folder, "begun")];
    const llama = `import { writeFileSync } from "node:fs";
      export const LlamaLogLevel = {};
      export async function getLlama() { writeFileSync(${JSON.stringify(begun)}, ""); ${body} }`;
    writeFileSync(module, llama);
    const host = startChild(new URL("./test/hold-model.ts", import.meta.url), [pathToFileURL(module).href], {
      detached: true,
    });
    const pid = Number(await host.rest("model process "));
    await eventually(() => existsSync(begun));
    host.process.kill("SIGKILL");
    await host.ended;
    await eventually(() => !isRunning(pid));
    expect(isRunning(pid)).toBe(false);
  });
});
