import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { startScript } from "./test/children.ts";
import { eventually, isRunning, tempFolder, tinyModel } from "./test/lab.ts";

describe("kill -9 of the host ends the process that runs its model", () => {
  test.each(["stay", "busy"])("when the model is loaded (%s)", async (what) => {
    const host = startScript("embed-and-stay.ts", [tinyModel({ layers: 6, dimensions: 128 }), what]);
    const pid = Number(await host.line("model process "));
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
    const host = startScript("hold-model.ts", [pathToFileURL(module).href]);
    const pid = Number(await host.line("model process "));
    await eventually(() => existsSync(begun));
    host.process.kill("SIGKILL");
    await host.ended;
    await eventually(() => !isRunning(pid));
    expect(isRunning(pid)).toBe(false);
  });
});
