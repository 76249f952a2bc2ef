// Loaded into a process and its threads by `--import`: writes down each file that is loaded, in a list for each thread.
import { appendFileSync } from "node:fs";
import { registerHooks } from "node:module";
import path from "node:path";
import { threadId } from "node:worker_threads";

const list = path.join(process.env.MEMSLOT_TEST_LOADS, `${process.pid}-${threadId}`);
registerHooks({
  load(url, context, next) {
    if (url.startsWith("file:")) appendFileSync(list, `${url}\n`);
    return next(url, context);
  },
});
