import { parentPort, workerData } from "node:worker_threads";
import { createLedgerService } from "./ledger-service.ts";
import type { Joining } from "./thread-messages.ts";

type Task = () => Promise<void>;

/** Current ledger and number of started tasks, read by `shared-threads.ts`. */
const running = workerData as Int32Array;
const waiting = new Map<number, Task[]>();
let isWorking = false;
let ledgers = 0;
const fewLedgers = 8;

function add(ledger: number, task: Task): void {
  const tasks = waiting.get(ledger);
  if (tasks) tasks.push(task);
  else waiting.set(ledger, [task]);
  if (!isWorking) void work();
}

async function work(): Promise<void> {
  isWorking = true;
  // Re-inserted ledgers come last.
  for (const [ledger, tasks] of waiting) {
    const task = tasks.shift();
    waiting.delete(ledger);
    if (tasks.length > 0) waiting.set(ledger, tasks);
    if (task === undefined) continue;
    Atomics.add(running, 1, 1);
    Atomics.store(running, 0, ledger);
    await task();
    Atomics.store(running, 0, 0);
    if (ledgers > 1) await new Promise(setImmediate);
  }
  isWorking = false;
}

parentPort?.on("message", ({ ledger, port, left }: Joining) => {
  ledgers++;
  const unlessLeft = (task: Task): void => add(ledger, async () => (left[0] === 0 ? await task() : undefined));
  const service = createLedgerService(
    (reply) => port.postMessage(reply),
    unlessLeft,
    () => ledgers > fewLedgers,
  );
  port.on("message", service.receive);
  port.on("close", () => {
    ledgers--;
    add(ledger, async () => service.close());
  });
});
