import { type MemoryTool, type MemoryToolsOptions, createMemoryTools } from "@memslot/agent-kit";
import {
  type Memory,
  MemoryError,
  type SyncProgress,
  isAbort,
  messageOf,
  usualDeadlines,
  withDeadline,
} from "@memslot/core";

/** How long a call waits for the memory to open. */
const OPENING_DEADLINE_MS = usualDeadlines.searchMs;
/** After a failure a call that comes later than this tries again. */
const RETRY_AFTER_MS = 5000;

/** The memory behind the server, which answers also before it is open and if it cannot be opened. */
export interface McpMemory {
  /** The offered tools; empty if memory is off. */
  readonly tools: readonly MemoryTool[];
  /** Opens the memory and syncs its index, both in the background. */
  start(): void;
  /** Runs a tool. `onProgress` gets the progress of the first index during the call. */
  call(tool: MemoryTool, input: unknown, options: McpCallOptions): Promise<object>;
  /** The open memory. Throws `MemoryError` with the reason if there is none. */
  open(signal: AbortSignal): Promise<Memory>;
  close(): Promise<void>;
}

interface McpCallOptions {
  signal: AbortSignal;
  onProgress?: ((progress: SyncProgress) => void) | undefined;
}

export interface McpMemoryOptions {
  /** Undefined where memory is off for the agent. */
  openMemory: ((signal: AbortSignal) => Promise<Memory>) | undefined;
  /** Options of the tools, without memory. */
  tools: Omit<MemoryToolsOptions, "memory" | "unavailable">;
  closeMemory: (memory: Memory) => Promise<void>;
  notice: (line: string) => void;
  /** Called for a failure that no later call can repair: an invalid configuration. */
  onBadConfig: (error: unknown) => void;
  now?: (() => number) | undefined;
}

export function createMcpMemory(options: McpMemoryOptions): McpMemory {
  const { openMemory, notice } = options;
  const now = options.now ?? (() => performance.now());
  const ended = new AbortController();
  const listeners = new Set<(progress: SyncProgress) => void>();
  let opening: Promise<Opened> | undefined;
  let failedAtMs: number | undefined;
  let indexing: SyncProgress | undefined;

  interface Opened {
    memory: Memory;
    tools: readonly MemoryTool[];
  }

  const toolsWithout = (error: unknown): readonly MemoryTool[] =>
    createMemoryTools({ ...options.tools, memory: undefined, unavailable: { error } });

  function opened(open: NonNullable<typeof openMemory>): Promise<Opened> {
    if (opening === undefined || (failedAtMs !== undefined && now() - failedAtMs >= RETRY_AFTER_MS)) {
      failedAtMs = undefined;
      opening = openOnce(open);
      opening.catch((error: unknown) => {
        failedAtMs = now();
        if (ended.signal.aborted || isAbort(error)) return;
        if (MemoryError.is(error, "CONFIG")) options.onBadConfig(error);
        else notice(`the memory could not be opened: ${messageOf(error)}`);
      });
    }
    return opening;
  }

  async function openOnce(open: NonNullable<typeof openMemory>): Promise<Opened> {
    const memory = await open(ended.signal);
    void bringUpToDate(memory); // in the background: it ends with `ended` and throws nothing
    return { memory, tools: createMemoryTools({ ...options.tools, memory }) };
  }

  async function bringUpToDate(memory: Memory): Promise<void> {
    const progress = (update: SyncProgress): void => {
      indexing = update;
      for (const listener of listeners) listener(update);
    };
    try {
      await memory.sync({ reason: "session-start", progress, signal: ended.signal });
    } catch (error) {
      if (isAbort(error) || MemoryError.is(error, "CLOSED") || ended.signal.aborted) return;
      notice(`the index could not be brought up to date: ${messageOf(error)}`);
    } finally {
      indexing = undefined;
    }
  }

  async function openedInTime(signal: AbortSignal): Promise<Opened> {
    if (openMemory === undefined) throw new MemoryError("UNAVAILABLE", "memory is off for this agent");
    const limits = { what: "opening the memory", deadlineMs: OPENING_DEADLINE_MS, signals: [signal, ended.signal] };
    return withDeadline(limits, () => opened(openMemory));
  }

  return {
    tools: openMemory === undefined ? [] : toolsWithout(new MemoryError("UNAVAILABLE", "the memory is not open yet")),

    start() {
      // `opened` and the callers get the error.
      if (openMemory !== undefined) opened(openMemory).catch(() => undefined);
    },

    async call({ name }, input, { signal, onProgress }) {
      let over = false;
      const listener = (update: SyncProgress): void => {
        if (!over) onProgress?.(update);
      };
      listeners.add(listener);
      if (indexing !== undefined) listener(indexing);
      try {
        const tools = await openedInTime(signal).then(
          (done) => done.tools,
          (error: unknown) => {
            if (signal.aborted || ended.signal.aborted) throw error;
            return toolsWithout(error);
          },
        );
        const tool = tools.find((each) => each.name === name);
        if (tool === undefined) throw new MemoryError("INVALID_ARGUMENT", `there is no tool "${name}"`);
        return await tool.execute(input, { signal: AbortSignal.any([signal, ended.signal]) });
      } finally {
        over = true;
        listeners.delete(listener);
      }
    },

    open: async (signal) => (await openedInTime(signal)).memory,

    async close() {
      ended.abort();
      const done = await opening?.catch(() => undefined);
      if (done !== undefined) await options.closeMemory(done.memory);
    },
  };
}
