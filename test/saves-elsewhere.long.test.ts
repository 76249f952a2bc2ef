import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Memory, openMemory, parseConfig } from "memslot";
import { expect, onTestFinished, test } from "vitest";

/** Saves what it is told, in one of several ways, and says so at once. */
const saves = `
const { renameSync, utimesSync, writeFileSync } = require("node:fs");
process.on("message", ({ file, text, how }) => {
  writeFileSync(how === "by rename" ? file + ".tmp" : file, text);
  if (how === "by rename") renameSync(file + ".tmp", file);
  // A clock that was set back, or a copy that keeps its time.
  if (how === "with an old time") utimesSync(file, 1e9, 1e9);
  process.send("saved");
});`;
const ways = ["in place", "by rename", "with an old time"];

interface Saved {
  notes: string;
  memory: Memory;
  /** Saves a note in another process. */
  save(name: string, text: string, how: string): Promise<void>;
}

async function opened(base: string, isLinked: boolean): Promise<Saved> {
  const place = mkdtempSync(path.join(base, "memslot-saves-"));
  onTestFinished(() => rmSync(place, { recursive: true, force: true, maxRetries: 5 }));
  const notes = path.join(place, "notes");
  mkdirSync(path.join(notes, "memory"), { recursive: true });
  for (let note = 0; note < 300; note++) writeFileSync(path.join(notes, `memory/n${note}.md`), `filler ${note}\n`);
  const linked = path.join(place, "linked");
  symlinkSync(notes, linked);
  const settings = { workspace: isLinked ? linked : notes, memorySearch: { provider: "none" } };
  const memory = await openMemory({
    config: parseConfig({ agents: { defaults: settings } }, { stateDir: path.join(place, "state"), env: {} }),
    agentId: "main",
    notify: () => {},
  });
  onTestFinished(() => memory.close());
  await memory.sync();
  const child: ChildProcess = spawn(process.execPath, ["-e", saves], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  onTestFinished(() => void child.kill());
  return {
    notes,
    memory,
    async save(name, text, how) {
      const saved = once(child, "message");
      child.send({ file: path.join(notes, name), text, how });
      await saved;
    },
  };
}

/** Whether an answer that is called fresh names a note with the word; undefined where it is not called fresh. */
async function finds(memory: Memory, word: string): Promise<boolean | undefined> {
  let state: string | undefined;
  const [best] = await memory.search(word, { maxResults: 1, onDebug: (report) => void (state = report.state) });
  return state === "ok" ? best?.snippet.includes(word) === true : undefined;
}

const places: [string, string, boolean][] = [
  ["on a disk, in a workspace that is a link", tmpdir(), true],
  ["in memory", "/dev/shm", false],
];

test.each(places.filter(([, base]) => existsSync(base)))(
  "no answer that is called fresh lacks what another process saved right before: %s",
  { timeout: 180_000 },
  async (_, base, isLinked) => {
    const { memory, save } = await opened(base, isLinked);
    let fresh = 0;
    for (let round = 0; round < 400; round++) {
      const word = `word${String(round).padStart(6, "0")}`;
      const how = ways[round % ways.length] ?? "in place";
      await save(`memory/n${round % 50}.md`, `the ${word}\n`, how);
      // Events that wait for a loop that is busy are told all the same.
      for (const untilMs = performance.now() + (round % 7 === 0 ? 5 : 0); performance.now() < untilMs;);
      const found = await finds(memory, word);
      expect(found, `round ${round}, saved ${how}`).not.toBe(false);
      if (found === true) fresh++;
    }
    expect(fresh).toBeGreaterThan(0);
  },
);

test(
  "a thousand notes that change at once, and a folder of thousands that is moved in, are in the next fresh answer",
  { timeout: 180_000 },
  async () => {
    const { memory, notes } = await opened(tmpdir(), false);
    const freshly = async (word: string): Promise<boolean> => {
      for (const endMs = performance.now() + 60_000; performance.now() < endMs;) {
        const found = await finds(memory, word);
        if (found !== undefined) return found;
      }
      throw new Error("no answer was fresh");
    };
    for (let branch = 0; branch < 3; branch++) {
      for (let note = 0; note < 1000; note++)
        writeFileSync(path.join(notes, `memory/n${note}.md`), `branch${branch} note${note}x\n`);
      expect(await freshly(`branch${branch}`)).toBe(true);
      const last = path.join(notes, "memory/n999.md");
      writeFileSync(last, `later${branch}\n`);
      expect(await freshly(`later${branch}`)).toBe(true);
    }
    const outside = path.join(notes, "..", "outside/deep");
    mkdirSync(outside, { recursive: true });
    for (let note = 0; note < 5000; note++) writeFileSync(path.join(outside, `m${note}.md`), `moved${note}x\n`);
    renameSync(path.dirname(outside), path.join(notes, "memory/moved"));
    expect(await freshly("moved4999x")).toBe(true);
    writeFileSync(path.join(notes, "memory/moved/deep/m17.md"), "afterwards\n");
    expect(await freshly("afterwards")).toBe(true);
    rmSync(path.join(notes, "..", "state", "watch"), { recursive: true, force: true });
    writeFileSync(path.join(notes, "memory/moved/deep/m18.md"), "withoutwatch\n");
    expect(await freshly("withoutwatch")).toBe(true);
    rmSync(path.join(notes, "..", "state"), { recursive: true, force: true });
    writeFileSync(path.join(notes, "memory/moved/deep/m19.md"), "withoutstate\n");
    expect(await freshly("withoutstate")).toBe(true);
  },
);
