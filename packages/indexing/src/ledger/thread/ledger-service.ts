import { reasonOf, StoreFailure, isPieces, type Pieces } from "./remote-calls.ts";
import type { NoteIndex } from "../../note-index.ts";
import type { CompanionModule, CompanionTables } from "../store-search-tables.ts";
import type { ReopeningStore } from "./reopening-store.ts";
import type { OpenOptions, Reply, Request } from "./thread-messages.ts";

/** Frequent calls that write nothing. */
const readingCalls: ReadonlySet<string> = new Set<keyof NoteIndex>(["revision", "stats", "searchKeyword"]);
/** Slightly longer than the quiet time before the checksum is recorded. */
const whenQuietMs = 600;

/** Answers the requests of `worker-client.ts` in order. `isOneOfMany`: the thread serves other ledgers. */
export function createLedgerService(
  send: (reply: Reply) => void,
  add: (task: () => Promise<void>) => void,
  isOneOfMany: () => boolean = () => false,
): { receive(request: Request): void; close(): void } {
  let store: ReopeningStore | undefined;
  let sentHealth = "";
  let sentRevision: string | undefined;
  let isTidying = false;
  let quiet: NodeJS.Timeout | undefined;

  function receive(request: Request): void {
    add(async () => {
      const reply = await answer(request.id, () => run(request));
      if (isPieces(reply.result)) goOn(request.id, reply.result);
      const isHealthNew = !isPieces(reply.result) && post(reply);
      // A reading call leaves nothing to tidy, unless the file was reopened for it.
      if (isHealthNew || !readingCalls.has(request.method)) tidyLater();
      else quiet ??= setTimeout(tidyWhenQuiet, whenQuietMs).unref();
    });
  }

  function goOn(id: number, pieces: Pieces<unknown>): void {
    setImmediate(() => {
      add(async () => {
        let isDone = true;
        const reply = await answer(id, async () => {
          if (store === undefined) throw new StoreFailure("CLOSED", "the index is not open");
          const step = await pieces.next();
          isDone = step.done === true;
          return step.value;
        });
        if (isDone) post(reply);
        else goOn(id, pieces);
      });
    });
  }

  function tidyLater(): void {
    if (isTidying) return;
    isTidying = true;
    setImmediate(() => {
      add(async () => {
        isTidying = false;
        if ((await store?.tidy(false)) === true) return tidyLater();
        clearTimeout(quiet);
        quiet = setTimeout(tidyWhenQuiet, whenQuietMs).unref();
      });
    });
  }

  function tidyWhenQuiet(): void {
    quiet = undefined;
    add(async () => {
      if ((await store?.tidy(true)) === true) tidyLater();
      else if (isOneOfMany()) store?.shrink();
    });
  }

  function post(reply: Reply): boolean {
    const health = store?.health();
    const { revision, ...others } = health ?? {};
    const text = health === undefined ? sentHealth : JSON.stringify(others);
    const isNew = text !== sentHealth;
    const isChanged = isNew || (health !== undefined && revision !== sentRevision);
    [sentHealth, sentRevision] = [text, revision];
    send(isChanged ? { ...reply, health } : reply);
    return isNew;
  }

  async function run(request: Request): Promise<unknown> {
    if (request.method === "open") return await open(request.args[0] as OpenOptions);
    if (store === undefined) throw new StoreFailure("CLOSED", "the index is not open");
    if (request.method === "close") return close();
    return await store.call(request.method, request.args);
  }

  async function open(options: OpenOptions): Promise<ReopeningStore["methods"]> {
    try {
      const { openReopeningStore } = await import("./reopening-store.ts");
      store = await openReopeningStore(options, await companionOf(options));
      return store.methods;
    } catch (error) {
      if (error instanceof StoreFailure) throw error;
      throw new StoreFailure(
        "UNAVAILABLE",
        `the index ${options.path} cannot be opened: ${reasonOf(error)}; reinstall the package better-sqlite3 if it does not load`,
        { cause: error },
      );
    }
  }

  function close(): void {
    clearTimeout(quiet);
    store?.close();
    store = undefined;
  }

  return { receive, close };
}

async function answer(id: number, work: () => Promise<unknown>): Promise<Reply> {
  try {
    return { id, result: await work() };
  } catch (error) {
    return { id, error: describe(error) };
  }
}

async function companionOf({ companion }: OpenOptions): Promise<CompanionTables | undefined> {
  if (companion === undefined) return undefined;
  const { createCompanion } = (await import(companion.module)) as CompanionModule;
  return createCompanion(companion.settings);
}

function describe(error: unknown): NonNullable<Reply["error"]> {
  const code = error instanceof StoreFailure ? error.code : "UNAVAILABLE";
  const cause = error instanceof Error && error.cause !== undefined ? reasonOf(error.cause) : undefined;
  return { code, message: reasonOf(error), cause };
}
