import { createLifecycle } from "../guard/lifecycle.ts";
import type { Memory } from "../contract/memory.ts";
import { callMemory, eachMemoryCall, signalOf, withSignal } from "../guard/calls.ts";

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
