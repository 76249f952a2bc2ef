import type {
  Call,
  CallOptions,
  Calls,
  CallsOfManager,
  CallsOfMemory,
  IndexCallName,
  IndexCalls,
} from "../contract/calls.ts";
import { MemoryError } from "../contract/errors.ts";
import type { MemorySearchManager } from "../contract/manager.ts";
import type { Memory } from "../contract/memory.ts";
import {
  type Shape,
  checkOpened,
  type Field,
  type Kind,
  type Read,
  abortSignal,
  callable,
  count,
  flag,
  isObject,
  kindOf,
  list,
  notePath,
  object,
  optional,
  orAbsent,
  readFields,
  required,
  text,
  whole,
} from "./runtime-type-checks.ts";
import { type SearchFacts, checkSearch, checkWhyTarget } from "./arguments.ts";
import type { MemoryDeadlines } from "./deadline.ts";

interface OptionsPlace {
  readonly place?: 1 | 2;
  readonly params?: "needed" | "optional";
}

export interface CallRow<Each extends Call> extends OptionsPlace {
  readonly deadline: keyof MemoryDeadlines;
  /** Makes the manager's arguments from those of the application. Throws `INVALID_ARGUMENT`. */
  readonly read: (given: Each["given"], facts: SearchFacts) => WithoutSignal<Each["handed"]>;
  readonly answer: Shape;
}

export type CallRows<Table extends Calls<Table> = IndexCalls> = {
  readonly [Name in keyof Table]: CallRow<Table[Name]>;
};

type WithoutSignal<Handed extends readonly unknown[]> = {
  [Place in keyof Handed]: Handed[Place] extends { signal: AbortSignal }
    ? Omit<Handed[Place], "signal">
    : Handed[Place];
};

function options<Fields extends Readonly<Record<string, Field<unknown>>>>(
  fields: Fields,
): (given: readonly [options?: object | undefined]) => [Read<Fields>] {
  return ([given = {}]) => [readFields(fields, given)];
}

function each(kind: Kind<unknown>, ...names: readonly string[]): Shape["fields"] {
  return Object.fromEntries(names.map((name) => [name, kind]));
}

const plain = options({});

export const indexCalls: CallRows = {
  estimate: {
    deadline: "syncIdleMs",
    read: plain,
    answer: {
      fields: {
        ...each(count, "files", "changedFiles", "chunks", "cachedTexts", "pendingTexts", "tokens", "requests"),
        provider: text,
      },
    },
  },
  survey: {
    deadline: "upkeepMs",
    read: plain,
    answer: { fields: { excluded: object, notes: count, unsearched: object } },
  },
  listFiles: {
    deadline: "upkeepMs",
    read: options({
      limit: optional(whole(1, 20_000, "a number of files, 1 to 20000"), 20_000),
      newest: optional(flag, false),
      scan: optional(flag, true),
    }),
    answer: { fields: { files: list, leftOut: list, fileCount: count, leftOutCount: count } },
  },
  describeFile: {
    params: "needed",
    deadline: "upkeepMs",
    read: options({ relPath: notePath }),
    answer: {
      fields: {
        ...each(list, "passages", "links", "backlinks"),
        ...each(count, "passageCount", "linkCount", "backlinkCount"),
      },
    },
  },
  why: {
    place: 2,
    deadline: "searchMs",
    read: ([query, target, given = {}], facts) => {
      const checked = checkSearch(query, given, facts);
      const wanted = checkWhyTarget(target);
      if (checked.options.audience === "shared")
        throw new MemoryError("INVALID_ARGUMENT", "why a note is not found is reported only to the owner");
      return [checked.query, wanted, { ...checked.options, onDebug: () => undefined }];
    },
    answer: { fields: { found: flag, rungs: list, sentence: text } },
  },
  check: {
    deadline: "upkeepMs",
    read: options({ fix: optional(flag, false) }),
    answer: { fields: { ok: flag, findings: list } },
  },
  compact: { deadline: "upkeepMs", read: plain, answer: { fields: { beforeBytes: count, afterBytes: count } } },
  details: { deadline: "upkeepMs", read: plain, answer: { fields: { syncs: list, spaces: list } } },
  map: {
    deadline: "upkeepMs",
    read: options({ dimensions: optional(whole(2, 24), 2) }),
    answer: {
      fields: { notes: list, note: list, startLine: list, endLine: list, x: list, y: list, passages: count },
    },
  },
  releaseQuarantine: { deadline: "upkeepMs", read: plain, answer: { fields: { chunks: count } } },
};

function indexCallNames(): IndexCallName[] {
  return Object.keys(indexCalls) as IndexCallName[];
}

const capabilities = ["keyword", "vector", "ownsIndex"] as const;

/** Throws `PLUGIN` with the field if a memory plugin opened something that is not a manager. */
export function checkManager(pluginId: string, manager: MemorySearchManager): void {
  const what = `memory plugin "${pluginId}" opened something that is not a manager`;
  checkOpened(what, manager, {
    ...each(callable, "search", "readFile", "status", "probeEmbeddingAvailability", "probeVectorAvailability"),
    ...each(orAbsent(callable), "sync", ...indexCallNames(), "close"),
    capabilities: kindOf("an object", isObject),
  });
  const given = capabilities.map((name) => [`capabilities.${name}`, manager.capabilities[name]] as const);
  checkOpened(what, Object.fromEntries(given), each(flag, ...given.map(([name]) => name)));
}

export type MemoryCallName = Exclude<keyof Memory, "agentId" | "workspaceDir" | "ownerAllowFrom" | "status" | "close">;

const ownCalls: Readonly<Record<Exclude<MemoryCallName, IndexCallName>, OptionsPlace>> = {
  search: { place: 1 },
  ask: { place: 1 },
  readFile: { params: "needed" },
  sync: { params: "optional" },
  health: {},
  probeEmbeddingAvailability: {},
  probeVectorAvailability: {},
};

function memoryCalls(): Readonly<Record<MemoryCallName, OptionsPlace>> {
  return { ...ownCalls, ...indexCalls };
}

export function checkOptions(name: MemoryCallName, given: readonly unknown[]): CallOptions {
  const { place = 0, params } = memoryCalls()[name];
  const { [place]: value = params === "needed" ? undefined : {} } = given;
  const checked = required(object)(params === undefined ? "options" : "params", value);
  return readFields({ signal: optional(abortSignal, undefined) }, checked);
}

export function signalOf(name: MemoryCallName, given: readonly unknown[]): AbortSignal | undefined {
  return rightOptions(name, given)?.signal;
}

export function withSignal(name: MemoryCallName, given: readonly unknown[], signal: AbortSignal): readonly unknown[] {
  const right = rightOptions(name, given);
  const { place = 0 } = memoryCalls()[name];
  return right === undefined ? given : Object.assign([...given], { [place]: { ...right, signal } });
}

function rightOptions(name: MemoryCallName, given: readonly unknown[]): CallOptions | undefined {
  const { [memoryCalls()[name].place ?? 0]: value = {} } = given;
  return object.is(value) && orAbsent(abortSignal).is(Reflect.get(value, "signal")) ? value : undefined;
}

type AnyCall = (...given: readonly unknown[]) => Promise<unknown>;

/** Creates an object with every call about the index, as a memory or a manager has them. */
export function eachIndexCall<Made extends CallsOfMemory | CallsOfManager>(
  make: (name: IndexCallName) => AnyCall,
): Made {
  return Object.fromEntries(indexCallNames().map((name) => [name, make(name)])) as Made;
}

export function eachMemoryCall(make: (name: MemoryCallName) => AnyCall): Pick<Memory, MemoryCallName> {
  const names = Object.keys(memoryCalls()) as MemoryCallName[];
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Pick<Memory, MemoryCallName>;
}

export function callMemory(memory: Memory, name: MemoryCallName, given: readonly unknown[]): Promise<unknown> {
  return Reflect.apply(memory[name], memory, given) as Promise<unknown>;
}

/** Makes a call about the index by its name; undefined if the manager lacks it. */
export async function callManager<Name extends IndexCallName>(
  manager: MemorySearchManager,
  name: Name,
  handed: readonly unknown[],
): Promise<IndexCalls[Name]["answer"] | undefined> {
  const call: unknown = manager[name];
  return typeof call === "function" ? Reflect.apply(call, manager, handed) : undefined;
}

/** Creates the calls of a memory; each is forwarded to the memory that `memory` returns. */
export function passMemoryCalls(memory: () => Promise<Memory>): Pick<Memory, MemoryCallName> {
  return eachMemoryCall(
    (name) =>
      async (...given) =>
        callMemory(await memory(), name, given),
  );
}
