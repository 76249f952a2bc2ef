import type { ChildProcess } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import { contextOf } from "@memslot/fakes/plugin-context";
import { download } from "../download.ts";
import { createLocalPlugin } from "../local-plugin.ts";
import { ModelProcess } from "../model-process.ts";

/**
 * A host process. `download URL PATH`. `load LLAMA`: starts a process that loads a model. `stay`, `busy`, `leave` or
 * `close` with a MODEL: embeds, then waits, waits with a batch in progress, ends without closing, or closes a suspended
 * process. Prints the id of the process that runs the model.
 */
const [command, first = "", second = ""] = process.argv.slice(2);
const { signal } = new AbortController();
const hour = 3_600_000;
if (command === "download") {
  await download({ url: first, path: second, fileName: "model.gguf", signal, progress: () => {} });
} else if (command === "load") {
  const request = { llama: first, modelPath: "none.gguf", contexts: 1, contextSize: 64, threads: 1 };
  const child = new ModelProcess(request, { loadMs: hour, silenceMs: hour });
  process.stdout.write(`model process ${child.pid}\n`);
} else {
  const children: ChildProcess[] = [];
  subscribe("child_process", (event) => void children.push((event as { process: ChildProcess }).process));
  const memorySearch = { provider: "local", local: { modelPath: first } };
  const provider = await createLocalPlugin().open(contextOf({ memorySearch, options: { threads: 1 } }));
  await provider.embedQuery("hello");
  if (command === "busy") void provider.embedBatch(Array.from({ length: 5000 }, () => "a long text ".repeat(100)));
  process.stdout.write(`model process ${children[0]?.pid}\n`);
  if (command === "close") {
    children[0]?.kill("SIGSTOP");
    await provider.close?.();
  } else if (command !== "leave") setInterval(() => {}, 1000);
}
