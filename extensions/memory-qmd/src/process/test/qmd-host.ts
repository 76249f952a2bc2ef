import { openQmdProcess } from "../open-process.ts";
import type { FoundQmd } from "../../qmd-contract.ts";

/**
 * A host that uses qmd and is then killed. `mcp`: has asked a question; `hung`: waits for an answer; `update`: waits for
 * an update; `leave`: ends without closing anything. Prints "ready" when it is so far, the id of the long-lived child before it, and "stays" after an update.
 */
const [entry = "", folder = "", what = "", graceMs = "300"] = process.argv.slice(2);
const found: FoundQmd = { version: "2.8.3", location: entry, argv: [process.execPath, entry] };
const qmd = openQmdProcess({
  found,
  folder,
  environment: process.env,
  mode: "lexical",
  limits: { initializeMs: 60_000, killMs: Number(graceMs), updateGraceMs: Number(graceMs) },
  notify: () => {},
});
const { signal } = new AbortController();
const ask = (deadlineMs: number): Promise<unknown> =>
  qmd.query({
    searches: [{ type: "lex", query: "staging" }],
    limit: 5,
    collections: ["notes"],
    rerank: false,
    deadlineMs,
    signal,
  });

if (what === "mcp" || what === "leave") await ask(60_000);
if (what === "hung") void ask(600_000);
if (what === "update") void qmd.update({ files: 100_000, signal }).then(() => process.stdout.write("stays\n"));
process.stdout.write(`pid ${qmd.state().pid}\nready\n`);
if (what !== "leave") setInterval(() => {}, 1000);
