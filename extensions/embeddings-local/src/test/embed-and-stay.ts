import type { ChildProcess } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import { parseConfig } from "@memslot/core";
import { createLocalPlugin } from "../local-plugin.ts";

/**
 * A host that embeds with the model in its first argument. `stay`: waits to be killed; `busy`: is killed with a batch
 * on its way; `leave`: ends without closing anything. Prints the id of the process that runs the model.
 */
const [modelPath, what] = process.argv.slice(2);
const children: ChildProcess[] = [];
subscribe("child_process", (event) => void children.push((event as { process: ChildProcess }).process));
const config = parseConfig(
  { agents: { defaults: { memorySearch: { provider: "local", local: { modelPath } } } } },
  { baseDir: "/nowhere", stateDir: "/nowhere/state", env: { HOME: "/nowhere" } },
);
const provider = await createLocalPlugin().open({
  settings: config.agent("main").memorySearch,
  providers: {},
  environment: () => undefined,
  stateDir: "/nowhere/state",
  options: { threads: 1 },
  signal: new AbortController().signal,
});
await provider.embedQuery("hello");
if (what === "busy") void provider.embedBatch(Array.from({ length: 5000 }, () => "a long text ".repeat(100)));
process.stdout.write(`model process ${children[0]?.pid}\n`);
if (what !== "leave") setInterval(() => {}, 1000);
