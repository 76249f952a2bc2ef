import path from "node:path";
import type { Sandbox } from "../run-memslot.ts";
import { writePlugin } from "../written-plugin.ts";

interface Behaviour {
  open?: "fail" | "never";
  sync?: "held";
  close?: "never";
}

/**
 * A memory plugin that writes to the stderr of the server what it is asked, and that a test directs by its queries:
 * `wait` answers only when it is aborted, `noise` writes to stdout by every way there is, `release` lets the first sync
 * end, `step` makes it report one file more and `back` one file less.
 */
const code = (behaviour: Behaviour): string => `
const behaviour = ${JSON.stringify(behaviour)};
const write = globalThis.memslotTestSays ?? ((text) => process.stderr.write(text));
const say = (text) => write("backend: " + text + "\\n");
const report = { backend: "watched", mode: "keyword", state: "ok", legs: {}, dropped: { minScore: 0, source: 0, limit: 0 } };
const result = { path: "MEMORY.md", startLine: 1, endLine: 1, score: 0.9, snippet: "Anna likes espresso.", source: "memory" };
export default {
  kind: "memory", contract: 1, id: "watched",
  async open({ settings }) {
    if (behaviour.open === "fail") throw new Error("the watched store is locked away");
    if (behaviour.open === "never") await new Promise(() => setInterval(() => {}, 1000));
    say("open");
    const released = Promise.withResolvers();
    let completed = 1;
    let reads = 0;
    let progress = () => {};
    return {
      capabilities: { keyword: true, vector: false, ownsIndex: true },
      async search(query, options) {
        say("search " + query);
        if (query === "wait")
          await new Promise((_, reject) => options.signal.addEventListener("abort", () => {
            say("aborted");
            reject(options.signal.reason);
          }));
        if (query === "noise") {
          console.log("noise by log");
          console.info("noise by info");
          console.table([{ noise: "by table" }]);
          process.stdout.write("noise by write\\n");
        }
        if (query === "step") progress({ completed: ++completed, total: 9 });
        if (query === "back") progress({ completed: completed - 1, total: 9 });
        if (query === "release") released.resolve();
        options.onDebug(report);
        return [result];
      },
      async readFile({ relPath }) {
        say("read " + ++reads);
        return { status: "ok", text: "A long line about espresso.\\n".repeat(8000), path: relPath };
      },
      async sync(params) {
        if (behaviour.sync !== "held") return { added: 0, changed: 0, removed: 0, unchanged: 1, failed: [] };
        progress = params.progress;
        progress({ completed, total: 9, label: "MEMORY.md" });
        say("sync");
        params.signal.addEventListener("abort", () => released.resolve());
        await released.promise;
        say("synced");
        return { added: 1, changed: 0, removed: 0, unchanged: 0, failed: [] };
      },
      status: () => ({ backend: "watched", provider: "none", files: 1 }),
      async probeEmbeddingAvailability() { return { ok: false, error: "none" }; },
      async probeVectorAvailability() { return false; },
      async close() {
        say("close");
        if (behaviour.close === "never") await new Promise(() => setInterval(() => {}, 1000));
      },
    };
  },
};
`;

/** Puts the plugin into the memory slot. Returns the arguments with which `memslot mcp` uses it. */
export async function watchedBackend(sandbox: Sandbox, behaviour: Behaviour = {}): Promise<string[]> {
  await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
  const folder = writePlugin(path.join(sandbox.cwd, "watched"), { id: "watched", code: code(behaviour) });
  const plugins = { slots: { memory: "watched" }, load: { paths: [folder] } };
  return ["--config", await sandbox.writeConfig(JSON.stringify({ plugins }))];
}
