// Breaks the code in one place after another, in a copy of the repository, and reports the breaks that no test notices.
// `pnpm mutants [WORD]`: only the breaks whose entry contains the word. `mutants/*.json` list them by package: what the
// entry breaks, a file, a text that occurs in it once, its replacement, and the tests that must fail.
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const [word = ""] = process.argv.slice(2);
const lists = path.join(root, "scripts/mutants");
const all = readdirSync(lists).flatMap((name) => JSON.parse(readFileSync(path.join(lists, name), "utf8")));
const mutants = all.filter((mutant) => JSON.stringify(mutant).includes(word));
if (mutants.length === 0) throw new Error(`no mutant contains ${JSON.stringify(word)}`);
const copy = mkdtempSync(path.join(os.tmpdir(), "memslot-mutants-"));
const survivors = [];
try {
  copyTree();
  for (const mutant of mutants) {
    const file = path.join(copy, mutant.file);
    const text = readFileSync(file, "utf8");
    if (text.split(mutant.was).length !== 2) throw new Error(`${mutant.file} does not contain once: ${mutant.was}`);
    writeFileSync(
      file,
      text.replace(mutant.was, () => mutant.is),
    );
    const caught = testsFail(mutant.tests);
    writeFileSync(file, text);
    console.log(`${caught ? "caught  " : "SURVIVED"} ${mutant.breaks}: ${mutant.file}: ${mutant.was} → ${mutant.is}`);
    if (!caught) survivors.push(mutant);
  }
  // A test that fails for another reason would catch everything.
  const tests = [...new Set(mutants.flatMap((mutant) => mutant.tests))];
  if (testsFail(tests)) throw new Error("the tests fail without a break, too: what they caught says nothing");
} finally {
  rmSync(copy, { recursive: true, force: true });
}
console.log(`${mutants.length - survivors.length} of ${mutants.length} caught`);
process.exitCode = survivors.length > 0 ? 1 : 0;

function testsFail(tests) {
  const vitest = path.join(copy, "node_modules/vitest/vitest.mjs");
  const run = spawnSync(process.execPath, [vitest, "run", "--reporter=dot", ...tests], {
    cwd: copy,
    encoding: "utf8",
    env: { ...process.env, CI: "true" },
    timeout: 1_200_000,
    maxBuffer: 2 ** 28,
  });
  if (run.error && run.error.code !== "ETIMEDOUT") throw run.error;
  if (/No test files found/.test(run.stdout + run.stderr)) throw new Error(`no test files: ${tests.join(", ")}`);
  return run.status !== 0;
}

/** What git knows, with the links between the packages, which are relative; what came from npm is shared. */
function copyTree() {
  const listed = spawnSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
  });
  const files = listed.stdout.split("\n").filter((file) => file !== "" && existsSync(path.join(root, file)));
  for (const file of files) cpSync(path.join(root, file), path.join(copy, file), { recursive: true });
  symlinkSync(path.join(root, "node_modules"), path.join(copy, "node_modules"), "junction");
  const packages = files
    .filter((file) => /^[^/]+(?:\/[^/]+)?\/package\.json$/.test(file))
    .map((file) => path.dirname(file));
  for (const folder of packages) {
    const links = path.join(root, folder, "node_modules");
    if (existsSync(links))
      cpSync(links, path.join(copy, folder, "node_modules"), { recursive: true, verbatimSymlinks: true });
  }
}
