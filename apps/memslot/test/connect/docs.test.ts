import { mkdir, readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { clientIds } from "../../src/connect/client.ts";
import { createSandbox } from "../run-memslot.ts";

const root = path.join(import.meta.dirname, "../../../..");
const pages = await Promise.all(
  ["docs/connect.md", "README.md", "README.zh-CN.md"].map(async (name) => ({
    name,
    text: await readFile(path.join(root, name), "utf8"),
  })),
);

describe.each(pages)("$name", ({ text }) => {
  test("has one command for each client", () => {
    const named = [...text.matchAll(/memslot connect ([a-z-]+) --workspace ~\/notes/gu)].map(([, client]) => client);
    expect(named).toEqual([...clientIds]);
  });
});

const page = pages[0]?.text ?? "";

/** The paragraph before each command, with the paths of the home folder that it names. */
const paragraphs = [...page.matchAll(/\n\n(\*\*[^]*?)\n\n```sh\n(memslot connect ([a-z-]+)[^\n]*)\n```/gu)].map(
  ([, paragraph = "", line = "", client = ""]) => ({
    client,
    words: line.split(" ").slice(1),
    paths: [...paragraph.matchAll(/`(~\/[^`]+)`/gu)].map(([, file = ""]) => file),
  }),
);

test.each(paragraphs)("the command for $client works as written, and writes what is said", async ({ words, paths }) => {
  const sandbox = await createSandbox();
  const home = sandbox.env["HOME"] ?? "";
  await mkdir(path.join(home, "notes"), { recursive: true });
  const { exitCode, stdout } = await sandbox.run([...words, "--dry-run", "--json"]);
  expect(exitCode).toBe(0);
  const { changes } = JSON.parse(stdout) as { changes: { path: string }[] };
  const written = changes.map(({ path: file }) => file.replace(home, "~").replaceAll("\\", "/"));
  for (const file of paths)
    expect(
      written.some((each) => each === file || each.startsWith(`${file}/`)),
      file,
    ).toBe(true);
});

test("names each of its options as the help does", async () => {
  const sandbox = await createSandbox();
  const { stdout } = await sandbox.run(["connect", "--help"]);
  const options = [...page.matchAll(/^\| `(--[a-z-]+)/gmu)].map(([, option = ""]) => option);
  expect(options.length).toBeGreaterThan(8);
  for (const option of options) expect(stdout).toContain(option);
});
