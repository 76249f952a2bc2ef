import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { examplesOf, root } from "./support/markdown-examples.ts";
import { publishedPlaces } from "./support/pack-all.ts";

const pages = [
  "README.md",
  "README.zh-CN.md",
  ...publishedPlaces.map((place) => `${place}/README.md`),
  "docs/agents.md",
  "docs/debugging.md",
  "docs/embeddings.md",
  "docs/index-health.md",
  "docs/writing-a-memory-plugin.md",
];
/** Inside the repository, so that package names resolve as they do for its own code. */
const examples = path.join(root, "test/.examples");
const compiled = path.join(examples, "test");
/** What the examples for plugin authors expect of the reader's own package. */
const readersOwn: Record<string, string> = {
  "index.ts":
    'import type { MemoryPlugin } from "@memslot/core";\ndeclare const plugin: MemoryPlugin;\nexport default plugin;\n',
  "store.ts":
    'import type { ChunkStore } from "@memslot/indexing";\nexport declare function openMyStore(file: string): Promise<ChunkStore>;\n',
  "provider.ts":
    'import type { EmbeddingProvider } from "@memslot/core";\nexport declare function createMyProvider(options: { baseUrl: string }): EmbeddingProvider;\n',
};

describe("the examples in the documentation", () => {
  let folder = "";
  let notes = "";

  beforeAll(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), "memslot-examples-"));
    notes = path.join(folder, "notes");
    mkdirSync(path.join(notes, "memory"), { recursive: true });
    writeFileSync(path.join(notes, "MEMORY.md"), "# Memory\n\n- The staging database listens on port 5544.\n");
    rmSync(examples, { recursive: true, force: true });
    mkdirSync(compiled, { recursive: true });
    mkdirSync(path.join(examples, "src"));
    for (const [name, code] of Object.entries(readersOwn)) writeFileSync(path.join(examples, "src", name), code);
  });

  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
    rmSync(examples, { recursive: true, force: true });
  });

  /** Runs the first TypeScript example of a page beside a folder of notes. */
  function runFirst(page: string): string {
    const [example] = examplesOf(page, "ts");
    const file = path.join(compiled, `run-${path.basename(page)}.ts`);
    writeFileSync(file, example ?? "");
    return execFileSync(process.execPath, ["--conditions=@memslot/source", file], {
      cwd: folder,
      encoding: "utf8",
      timeout: 60_000,
      env: { ...process.env, MEMSLOT_HOME: path.join(folder, "state") },
    });
  }

  test("in TypeScript compile under the strict settings of the project", () => {
    let count = 0;
    for (const page of pages) {
      for (const code of examplesOf(page, "ts"))
        writeFileSync(path.join(compiled, `example-${count++}.ts`), `${code}\nexport {};\n`);
    }
    expect(count).toBeGreaterThanOrEqual(4);
    writeFileSync(
      path.join(examples, "tsconfig.json"),
      JSON.stringify({
        extends: "../../tsconfig.base.json",
        compilerOptions: { noEmit: true, declaration: false, isolatedDeclarations: false, noUnusedLocals: false },
        include: ["src", "test"],
      }),
    );
    const tsc = path.join(root, "node_modules/typescript/bin/tsc");
    const run = spawnSync(process.execPath, [tsc, "-p", examples], { encoding: "utf8", timeout: 60_000 });
    expect(run.stdout).toBe("");
    expect(run.status).toBe(0);
  });

  test.each(["README.md", "README.zh-CN.md"])("the library example of %s finds and reads the line", (page) => {
    const output = runFirst(page);
    expect(output).toContain("MEMORY.md#L");
    expect(output).toContain("port 5544");
    expect(output).toContain("memory_search");
  });

  test("the example of docs/debugging.md is told of its search", () => {
    expect(runFirst("docs/debugging.md")).toMatch(/^a search: ok, 1 results, \d+ ms\n$/);
  });

  test.each([
    ["README.md", "From the notes:"],
    ["README.zh-CN.md", "笔记里写着："],
  ])("the question that %s asks the demo agent is answered with a citation", (page, lead) => {
    const question = /`echo "([^"]+)" \| npm start`/.exec(readFileSync(path.join(root, page), "utf8"))?.[1];
    expect(question).toBeDefined();
    const answer = execFileSync(
      process.execPath,
      ["--conditions=@memslot/source", path.join(root, "apps/demo-agent/src/cli.ts")],
      {
        input: `${question}\n`,
        encoding: "utf8",
        timeout: 60_000,
        env: withoutEndpoint(),
        stdio: ["pipe", "pipe", "ignore"],
      },
    );
    expect(answer).toContain(lead);
    expect(answer).toMatch(/memory\/\S+\.md#L\d+-L\d+/);
  });

  test.each(["README.md", "README.zh-CN.md", "docs/index-health.md"])(
    "the commands of %s work as they are written",
    (page) => {
      const home = path.join(folder, `home-${path.basename(page)}`);
      const place = path.join(folder, `place-${path.basename(page)}`);
      mkdirSync(home);
      mkdirSync(place);
      execFileSync("cp", ["-r", notes, path.join(home, "notes")]);
      const lines = examplesOf(page, "sh").flatMap((block) =>
        block.split("\n").filter((line) => line.startsWith("memslot ")),
      );
      expect(lines.length).toBeGreaterThan(0);
      for (const line of lines) {
        const command = line.replace("memslot ", `"$NODE" --conditions=@memslot/source "$CLI" `);
        const output = execFileSync("sh", ["-c", command], {
          cwd: place,
          encoding: "utf8",
          timeout: 60_000,
          env: {
            ...process.env,
            NODE: process.execPath,
            CLI: path.join(root, "apps/memslot/src/cli.ts"),
            HOME: home,
            MEMSLOT_HOME: path.join(home, ".memslot"),
          },
        });
        expect(output).not.toBe("");
      }
    },
  );
});

function withoutEndpoint(): NodeJS.ProcessEnv {
  const { OPENAI_API_KEY: _key, OPENAI_BASE_URL: _url, ...rest } = process.env;
  return rest;
}
