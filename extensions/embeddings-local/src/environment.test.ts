import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { ModelProcess } from "./model-process.ts";
import { eventually } from "@memslot/test-tools/wait";
import { tempFolder } from "./test/lab.ts";

test("the process that runs the model sees no key of its host", async () => {
  const folder = tempFolder();
  const [module, seen] = [join(folder, "llama.mjs"), join(folder, "seen")];
  writeFileSync(
    module,
    `import { renameSync, writeFileSync } from "node:fs";
     export const LlamaLogLevel = {};
     export async function getLlama() {
       writeFileSync(${JSON.stringify(`${seen}.tmp`)}, JSON.stringify(process.env));
       renameSync(${JSON.stringify(`${seen}.tmp`)}, ${JSON.stringify(seen)});
       await new Promise(() => {});
     }`,
  );
  for (const name of ["OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "FOO_SECRET"])
    vi.stubEnv(name, `planted ${name}`);
  vi.stubEnv("OMP_NUM_THREADS", "1");
  onTestFinished(() => void vi.unstubAllEnvs());
  const child = new ModelProcess(
    { llama: pathToFileURL(module).href, modelPath: "none.gguf", contexts: 1, contextSize: 64, threads: 1 },
    { loadMs: 60_000, silenceMs: 60_000 },
  );
  onTestFinished(() => child.stop());
  await eventually(() => existsSync(seen));
  const environment = readFileSync(seen, "utf8");
  expect(environment).not.toContain("planted");
  expect(JSON.parse(environment)).toMatchObject({ PATH: process.env["PATH"], OMP_NUM_THREADS: "1" });
});
