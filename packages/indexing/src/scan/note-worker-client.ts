import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { handedDown } from "../worker-exec-args.ts";
import { type NoteBytes, type NoteOrder, noteTasks } from "./note-worker-tasks.ts";
import { createTimeSlices } from "../time-slices.ts";

const longNote = 256 * 1024;
const mostMs = 300_000;
const idleMs = 5000;
/** Several files are read concurrently, one slice per turn of the event loop. */
const sliceMs = 1;

type TaskName = NoteOrder["name"];
type TaskResult<Name extends TaskName> = Awaited<ReturnType<(typeof noteTasks)[Name]>>;

let thread: Worker | undefined;
let idle: NodeJS.Timeout | undefined;
let queue: Promise<unknown> = Promise.resolve();

/** Runs a task in slices in the caller's thread, or for a long note in one shared thread, which takes its bytes. */
export async function noteTask<Name extends TaskName>(
  name: Name,
  note: NoteBytes,
  signal: AbortSignal,
): Promise<TaskResult<Name>> {
  if (note.bytes.length < longNote) {
    const slices = createTimeSlices(signal, { sliceMs });
    const pause = async (): Promise<void> => (slices.isOver() ? await slices.pause() : undefined);
    return (await noteTasks[name](note, pause)) as TaskResult<Name>;
  }
  const done = queue.then(() => inThread({ name, note }, signal));
  queue = done.catch(() => undefined);
  return (await done) as TaskResult<Name>;
}

async function inThread(order: NoteOrder, signal: AbortSignal): Promise<unknown> {
  signal.throwIfAborted();
  clearTimeout(idle);
  thread ??= new Worker(new URL(import.meta.resolve("#note-worker")), { name: "memslot-note", ...handedDown() });
  try {
    thread.ref();
    thread.postMessage(order, [order.note.bytes.buffer as ArrayBuffer]);
    const [result] = (await once(thread, "message", {
      signal: AbortSignal.any([signal, AbortSignal.timeout(mostMs)]),
    })) as [unknown];
    thread.unref();
    idle = setTimeout(end, idleMs).unref();
    return result;
  } catch (error) {
    end();
    throw error;
  }
}

function end(): void {
  void thread?.terminate();
  thread = undefined;
}
