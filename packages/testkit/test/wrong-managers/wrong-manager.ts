import type { MemoryPlugin, MemoryPluginContext, MemorySearchManager } from "@memslot/core";
import { createReferencePlugin } from "@memslot/testkit";

/** A manager that keeps its contract but for one fault, and the check that has to notice. */
export interface WrongManager {
  fault: string;
  caughtBy: string;
  /** What differs from the right manager. */
  spoil?: ((right: MemorySearchManager, context: MemoryPluginContext) => Partial<MemorySearchManager>) | undefined;
  /** Opens in place of the right plugin. */
  open?(right: MemoryPlugin, context: MemoryPluginContext): Promise<MemorySearchManager>;
}

export function pluginOf({ spoil, open }: WrongManager): MemoryPlugin {
  const reference = createReferencePlugin();
  return {
    ...reference,
    async open(context) {
      const right = await (open?.(reference, context) ?? reference.open(context));
      return { ...right, ...spoil?.(right, context) };
    },
  };
}

export const neverAborted = (): AbortSignal => new AbortController().signal;
