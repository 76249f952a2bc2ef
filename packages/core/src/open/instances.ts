import { createHash } from "node:crypto";
import { isObject } from "../config/deep.ts";
import { callMemory, eachMemoryCall, signalOf, withSignal } from "../guard/calls.ts";
import { withDeadline } from "../guard/deadline.ts";
import { createLifecycle } from "../guard/lifecycle.ts";
import type { Memory } from "../contract/memory.ts";

/** What two opens must have in common to share an instance. */
interface InstanceKey {
  /** Plain data: agent, canonical workspace, settings, plugin. Kept as a hash, as it holds secrets. */
  facts: unknown;
  /** Compared by identity: the plugin and the provider as objects. */
  objects: readonly unknown[];
}

export interface ShareOptions {
  key: InstanceKey;
  /** Runs when there is no instance yet. Its signal aborts when nobody waits for the instance any more. */
  open: (signal: AbortSignal, notify: (line: string) => void) => Promise<Memory>;
  /** Takes each line that the instance has to tell, also those from before this open, once. */
  notify: (line: string) => void;
  signal: AbortSignal | undefined;
  closeMs: number;
}

interface Instance {
  readonly objects: readonly unknown[];
  /** One for each handle that is open or waited for. */
  readonly users: Set<Pick<ShareOptions, "notify">>;
  readonly said: Set<string>;
  readonly abandoned: AbortController;
  readonly opening: Promise<Memory>;
  readonly forget: () => void;
  /** Set when the last handle is closed, until the instance is. */
  closing: Promise<void> | undefined;
}

// The one module-level state of this package. Two managers on one index in one process would work against each other,
// and the callers that have to share one (tools, a command, a watcher) do not know of each other.
const instances = new Map<string, Instance[]>();

/**
 * A handle on the one instance for this key. Closing a handle closes that handle, and with the last one the instance.
 * A failed open is forgotten, so that the next call tries again.
 */
export async function shareInstance(options: ShareOptions): Promise<Memory> {
  const { key, signal, closeMs } = options;
  const name = createHash("sha256").update(stableJson(key.facts)).digest("hex");
  for (;;) {
    const instance = find(name, key.objects) ?? add(name, options);
    if (!instance.closing) return enter(instance, options);
    // Its files may still be in use. How the closing goes is told to whoever closed it.
    const ended = instance.closing.catch(() => undefined);
    await withDeadline(
      { what: "the close of the same memory", deadlineMs: 4 * closeMs, signals: [signal] },
      () => ended,
    );
  }
}

function find(name: string, objects: readonly unknown[]): Instance | undefined {
  return instances.get(name)?.find((instance) => instance.objects.every((object, index) => object === objects[index]));
}

function add(name: string, { key, open }: ShareOptions): Instance {
  const users: Instance["users"] = new Set();
  const said = new Set<string>();
  const abandoned = new AbortController();
  const notify = (line: string): void => {
    if (said.has(line)) return;
    said.add(line);
    for (const tell of new Set([...users].map((user) => user.notify))) tell(line);
  };
  const opening = (async (): Promise<Memory> => open(abandoned.signal, notify))();
  const forget = (): void => {
    const others = (instances.get(name) ?? []).filter((other) => other !== instance);
    if (others.length === 0) instances.delete(name);
    else instances.set(name, others);
  };
  const instance: Instance = { objects: key.objects, users, said, abandoned, opening, forget, closing: undefined };
  instances.set(name, [...(instances.get(name) ?? []), instance]);
  opening.catch(forget);
  return instance;
}

async function enter(instance: Instance, { notify, signal, closeMs }: ShareOptions): Promise<Memory> {
  const user = { notify };
  const isNew = ![...instance.users].some((other) => other.notify === notify);
  // Counted before waiting: a handle that is closed meanwhile must not close what this call is about to get.
  instance.users.add(user);
  if (isNew) for (const line of instance.said) notify(line);
  try {
    const memory = await withDeadline({ what: "opening", signals: [signal] }, () => instance.opening);
    // Ending calls, closing the manager and closing the provider each have their own time.
    return createHandle(memory, 4 * closeMs, () => leave(instance, user));
  } catch (error) {
    // Not waited for: an aborted call answers at once, and after a failed open there is nothing to close.
    leave(instance, user).catch(() => undefined);
    throw error;
  }
}

async function leave(instance: Instance, user: Pick<ShareOptions, "notify">): Promise<void> {
  instance.users.delete(user);
  if (instance.users.size > 0 || instance.closing) return;
  instance.abandoned.abort();
  instance.closing = end(instance);
  await instance.closing;
}

async function end({ opening, forget }: Instance): Promise<void> {
  try {
    const memory = await opening.catch(() => undefined);
    await memory?.close();
  } finally {
    forget();
  }
}

/** JSON with the keys of every object in order, so that equal values have equal texts. */
function stableJson(value: unknown): string {
  return (
    JSON.stringify(value, (_key, inner: unknown) =>
      isObject(inner) ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1))) : inner,
    ) ?? ""
  );
}

/** A memory of one's own over one that is shared: closing it ends its own calls and leaves the shared one open. */
export function createHandle(memory: Memory, closeMs: number, release: () => Promise<void>): Memory {
  const { agentId, workspaceDir, ownerAllowFrom } = memory;
  const lifecycle = createLifecycle(`the memory of agent "${agentId}"`, closeMs);
  return {
    ...eachMemoryCall((name) => async (...given) => {
      const limits = { what: name, signals: [signalOf(name, given)] };
      return lifecycle.run(limits, (signal) => callMemory(memory, name, withSignal(name, given, signal)));
    }),
    agentId,
    workspaceDir,
    ownerAllowFrom,
    status: () => memory.status(),
    close: () => lifecycle.close([{ what: "closing", free: release }]),
  };
}
