// Prints the files and functions of this repository that one search enters, counted by V8 after the memory was opened and
// has answered before. With `save` a note is edited and synced first. Worker threads are not counted.
//   node --conditions=@memslot/source scripts/entered.mjs [save]
import { appendFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { setTimeout } from "node:timers/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { openMemory, parseConfig } from "../packages/core/src/index.ts";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const folder = await mkdtemp(path.join(tmpdir(), "memslot-entered-"));
const workspaceDir = path.join(folder, "notes");
await mkdir(path.join(workspaceDir, "memory"), { recursive: true });
for (const [name, text] of [
  ["memory/2026-03-05.md", "# Thursday\n\nThe heat pump was serviced. The technician replaced a valve.\n"],
  [
    "memory/garden.md",
    "# Garden\n\nThe pear tree by the shed flowers in April.\n\n## Tools\n\nThe pump is in the cellar.\n",
  ],
  ["MEMORY.md", "# Memory\n\nThe heat pump is from 2019 and has a warranty of ten years.\n"],
])
  await writeFile(path.join(workspaceDir, name), text);

const memory = await openMemory({
  agentId: "entered",
  config: parseConfig({}, { env: { MEMSLOT_HOME: path.join(folder, "state") } }),
  workspaceDir,
  host: new URL("../apps/memslot/src/cli.ts", import.meta.url).href,
});
const session = new Session();
session.connect();
try {
  // Each search scans all files until the watcher runs and the files have not changed for a while.
  for (let searches = 0; searches < 8; searches++) {
    await memory.search("when was the pump serviced");
    await setTimeout(500);
  }
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  if (process.argv.includes("save")) {
    await appendFile(path.join(workspaceDir, "memory/garden.md"), "\nThe fence was painted.\n");
    await memory.sync();
  }
  await memory.search("who painted the fence by the heat pump");
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const entered = result
    .filter(({ url }) => url.startsWith("file:") && !url.includes("/node_modules/"))
    .map(({ url, functions }) => ({
      file: path.relative(root, fileURLToPath(url)),
      // The function around a whole module is its loading.
      names: functions.filter(({ ranges: [{ count, startOffset }] }) => count > 0 && startOffset > 0).map(nameOf),
    }))
    .filter(({ file, names }) => names.length > 0 && !file.startsWith(".."))
    .toSorted((a, b) => (a.file < b.file ? -1 : 1));
  for (const { file, names } of entered) console.log(`${file}: ${names.join(" ")}`);
  console.log(`${entered.length} files, ${entered.reduce((sum, { names }) => sum + names.length, 0)} functions`);
} finally {
  session.disconnect();
  await memory.close();
  await rm(folder, { recursive: true });
}

function nameOf({ functionName, ranges: [{ startOffset }] }) {
  return functionName || `(${startOffset})`;
}
