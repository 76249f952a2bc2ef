import { parentPort } from "node:worker_threads";
import { type NoteOrder, noteTasks } from "./note-worker-tasks.ts";

/** The worker's side of `note-worker-client.ts`. What a task throws ends the thread. */
const never = async (): Promise<void> => undefined;

parentPort?.on("message", async ({ name, note }: NoteOrder) =>
  parentPort?.postMessage(await noteTasks[name](note, never)),
);
