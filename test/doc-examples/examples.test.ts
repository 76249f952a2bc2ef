import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { afterwards, writeFiles } from "@memslot/test-tools/files";
import { expect, test } from "vitest";
import { askDemo, commandsOf, runCommands, runFirstExample } from "../support/doc-examples.ts";
import { sampledPages, withSampleOutput } from "../support/generated-files.ts";
import { examplesOf, publishedPlaces, root } from "../support/repository.ts";
import data from "../data/examples.json" with { type: "json" };

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
/** What the examples for plugin authors expect of the reader's own package. */
const readersOwn = data.readersOwn;

test("examples in TypeScript compile under the strict settings of the project", () => {
  afterwards(() => rmSync(examples, { recursive: true, force: true }));
  const codes = pages.flatMap((page) => examplesOf(page, "ts"));
  expect(codes.length).toBeGreaterThanOrEqual(4);
  writeFiles(examples, {
    ...readersOwn,
    ...Object.fromEntries(codes.map((code, index) => [`test/example-${index}.ts`, `${code}\nexport {};\n`])),
    "tsconfig.json": data.tsconfig,
  });
  const tsc = path.join(root, "node_modules/typescript/bin/tsc");
  const run = spawnSync(process.execPath, [tsc, "-p", examples], { encoding: "utf8", timeout: 60_000 });
  expect([run.stdout, run.status]).toEqual(["", 0]);
});

// `programs.long.test.ts` does the same with the other pages.
test("the library example of README.md finds and reads the line", async () => {
  const output = await runFirstExample("README.md");
  for (const text of ["MEMORY.md#L", "port 5544", "memory_search"]) expect(output).toContain(text);
});

test("the question that README.md asks the demo agent is answered with a citation", async () => {
  const answer = await askDemo("README.md");
  expect(answer).toContain("From the notes:");
  expect(answer).toMatch(/memory\/\S+\.md#L\d+-L\d+/);
});

test.each(sampledPages)(
  "the sample output of %s is what the command prints (pnpm generate writes it)",
  async (page) => {
    const text = readFileSync(path.join(root, page), "utf8");
    expect(text).toMatch(/^\$ memslot memory search /mu);
    expect(await withSampleOutput(text)).toBe(text);
  },
);

test("the commands of README.md work as they are written, and README.zh-CN.md has the same", async () => {
  const runs = await runCommands("README.md");
  expect(runs.length).toBeGreaterThan(0);
  for (const { line, run } of runs) expect([line, run.exitCode, run.stdout === ""]).toEqual([line, 0, false]);
  expect(commandsOf("README.zh-CN.md")).toEqual(commandsOf("README.md"));
});

const everyPage = execFileSync("git", ["ls-files", "*.md"], { cwd: root, encoding: "utf8" })
  .trim()
  .split("\n")
  .filter((page) => existsSync(path.join(root, page)) && !/^(?:bench\/.*notes|apps\/demo-agent\/sample)/u.test(page));

/** The anchors of a page's headings, as hosts of Markdown make them. */
function anchorsOf(file: string): Set<string> {
  const text = readFileSync(file, "utf8").replaceAll(/^```[^]*?^```$/gmu, "");
  const headings = [...text.matchAll(/^#+ (.+)$/gmu)].map(([, heading = ""]) => heading.toLowerCase());
  return new Set(headings.map((heading) => heading.replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(" ", "-")));
}

test("every link of a page leads to a file, and to a heading in it", () => {
  const broken = everyPage.flatMap((page) => {
    const text = readFileSync(path.join(root, page), "utf8").replaceAll(/^```[^]*?^```$|`[^`\n]*`/gmu, "");
    const links = [...text.matchAll(/\]\((?!https?:|mailto:|#?\))([^)\s]+)\)/gu)].map(([, link = ""]) => link);
    return links
      .filter((link) => {
        const [place = "", anchor] = link.split("#");
        const file = place === "" ? path.join(root, page) : path.join(root, path.dirname(page), decodeURI(place));
        return !existsSync(file) || (anchor !== undefined && !anchorsOf(file).has(anchor));
      })
      .map((link) => `${page}: ${link}`);
  });
  expect(broken).toEqual([]);
});
