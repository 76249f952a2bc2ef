/**
 * The start of a session, in a process of its own: `node agent-start-task.ts WORKSPACE`, with an index that is there.
 * Prints milliseconds as JSON: `importMs` for loading the library, `readyMs` from then on until the notes of the session
 * start are there, with `cpuMs` of all threads in that time, `searchMs` for the first search after that, `nextMs` for the
 * start of the next session in the same process.
 */
const [workspace = ""] = process.argv.slice(2);

const began = performance.now();
const { loadConfig, openMemory, startSession } = await import("memslot");
const imported = performance.now();
const cpu = process.cpuUsage();
const config = await loadConfig({ workspace });
const memory = await openMemory({ config, agentId: "main", notify: () => {} });
const { text } = await startSession({ memory, now: new Date(), timeZone: "UTC" });
const ready = performance.now();
const { user, system } = process.cpuUsage(cpu);
const [best] = await memory.search("access code of project zephyr17");
const found = performance.now();
await startSession({ memory, sessionKey: "agent:main:main:thread:7", now: new Date(), timeZone: "UTC" });
const next = performance.now();
await memory.close();
if (!text.includes("Generated notes") || !text.includes("A day like others"))
  throw new Error("the notes are not there");
if (best === undefined) throw new Error("nothing was found");
console.log(
  JSON.stringify({
    importMs: imported - began,
    readyMs: ready - imported,
    cpuMs: (user + system) / 1000,
    searchMs: found - ready,
    nextMs: next - found,
  }),
);
