import { threadId } from "node:worker_threads";

/** In place of a companion's tables: says in which thread it was asked for. */
export function createCompanion(): never {
  throw new Error(`thread ${threadId}`);
}
