import { readdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { startChild } from "@memslot/test-tools/child";
import { tempFolder } from "./support/stores.ts";

/** Options for a process in which a package cannot be loaded. */
async function without(name: string, before = ""): Promise<{ env: NodeJS.ProcessEnv }> {
  const hook = join(await tempFolder(), "hook.mjs");
  await writeFile(
    hook,
    `import { registerHooks } from "node:module";
     ${before}
     registerHooks({
       resolve(specifier, context, next) {
         if (specifier === ${JSON.stringify(name)}) throw new Error("Cannot find native binding");
         return next(specifier, context);
       },
     });`,
  );
  return { env: { NODE_OPTIONS: `--import=${pathToFileURL(hook).href}` } };
}

async function told(options: { env: NodeJS.ProcessEnv }): Promise<{ code: string; message: string }> {
  const stateDir = await tempFolder();
  const child = startChild(new URL("./support/open-and-tell.ts", import.meta.url), [stateDir], options);
  const line = await child.line("{");
  expect(await child.ended).toBe(0);
  expect(readdirSync(stateDir), "nothing is left behind").toEqual([]);
  return JSON.parse(line) as { code: string; message: string };
}

test("where LanceDB does not load the error opens a spare, and names the machine and what to do", async () => {
  const { code, message } = await told(await without("@lancedb/lancedb"));
  expect(code).toBe("UNAVAILABLE");
  expect(message).toContain(`${process.platform}-${process.arch}`);
  expect(message).toContain("Cannot find native binding");
  expect(message).toContain('plugins.slots.memory to "memory-core"');
});

test("a Mac with an Intel processor is told that there is no binary for it", async () => {
  const mac = `Object.defineProperty(process, "platform", { value: "darwin" });
    Object.defineProperty(process, "arch", { value: "x64" });`;
  const { code, message } = await told(await without("@lancedb/lancedb", mac));
  expect(code).toBe("UNAVAILABLE");
  expect(message).toContain("no binary for darwin-x64");
  expect(message).toContain('plugins.slots.memory to "memory-core"');
});

test("where better-sqlite3 does not load the store works all the same", async () => {
  const stateDir = await tempFolder();
  const child = startChild(
    new URL("./support/open-and-tell.ts", import.meta.url),
    [stateDir],
    await without("better-sqlite3"),
  );
  expect(JSON.parse(await child.line("{"))).toEqual({ opened: true });
});
