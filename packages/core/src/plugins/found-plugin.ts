import type { MemoryError } from "../contract/errors.ts";
import type { AnyPlugin, MemoryFeature, PluginKind } from "../contract/plugin.ts";
import type { OfferedPlugin } from "./offered.ts";

/** A plugin as far as the slot has to know it. */
export interface SlotCandidate {
  readonly id: string;
  readonly kind: PluginKind;
  /** The name of its package, which may stand in the slot too. */
  readonly packageName?: string | undefined;
}

/** A plugin that can be chosen. Its code has not run. */
export interface FoundPlugin extends SlotCandidate {
  /** Where it was found, for people: a folder, or the `plugins` option. */
  readonly place: string;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly features?: readonly MemoryFeature[] | undefined;
  readonly limits?: readonly string[] | undefined;
  readonly configSchema: Readonly<Record<string, unknown>> | undefined;
  /** Imports and checks its entry. Throws `PLUGIN`. */
  load(): Promise<AnyPlugin>;
}

/** A plugin that was found and cannot be used. */
export interface BrokenPlugin {
  readonly id?: string | undefined;
  readonly packageName?: string | undefined;
  readonly place: string;
  readonly error: MemoryError;
}

export interface FoundPlugins {
  readonly known: readonly FoundPlugin[];
  readonly broken: readonly BrokenPlugin[];
  /** What the application offers to work with and is not installed. Only for advice. */
  readonly missing: readonly OfferedPlugin[];
}
