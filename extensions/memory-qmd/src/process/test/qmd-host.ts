import { QmdClient } from "../qmd-client.ts";

/**
 * A host that uses qmd and is then killed. `search`: has searched; `hung`: waits for an answer; `update`: waits for an
 * update; `leave`: ends without closing anything. Prints the id of the server and "ready", and "updated" after an update.
 */
const [entry = "", folder = "", what = "", graceMs = "300"] = process.argv.slice(2);
const client = new QmdClient({
  found: { version: "2.8.3", location: entry, argv: [process.execPath, entry] },
  folder,
  environment: process.env,
  limits: { initializeMs: 60_000, killMs: Number(graceMs), updateGraceMs: Number(graceMs) },
  notify: () => {},
});
const { signal } = new AbortController();
const query = (deadlineMs: number): Promise<unknown> =>
  client.query({
    searches: [{ type: "lex", query: "staging" }],
    limit: 5,
    collections: ["notes"],
    rerank: false,
    deadlineMs,
    signal,
  });

if (what === "search" || what === "leave") await query(60_000);
if (what === "hung") void query(600_000);
if (what === "update") void client.update({ files: 100_000, signal }).then(() => process.stdout.write("updated\n"));
process.stdout.write(`pid ${client.state().pid}\nready\n`);
if (what !== "leave") setInterval(() => {}, 1000);
