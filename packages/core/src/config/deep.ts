/** Nobody writes an option deeper than this; what goes deeper is refused instead of running out of stack. */
const maxDepth = 64;

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A copy of plain data with every text in it replaced. Class instances and functions are kept as they are. */
export function mapTexts(value: unknown, change: (text: string) => string, depth = 0): unknown {
  if (typeof value === "string") return change(value);
  if (depth > maxDepth) throw new RangeError("nested too deeply");
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change, depth + 1));
  if (!isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, mapTexts(inner, change, depth + 1)]));
}

/** Whether any text in plain data passes the test; data nested too deeply to tell counts as passing. */
export function someText(value: unknown, test: (text: string) => boolean, depth = 0): boolean {
  if (typeof value === "string") return test(value);
  if (depth > maxDepth) return true;
  const inner = Array.isArray(value) || isPlain(value) ? Object.values(value) : [];
  return inner.some((item) => someText(item, test, depth + 1));
}

/** What stands in a tree below these names; undefined where one of them is missing. */
export function valueAt(tree: unknown, names: readonly string[]): unknown {
  return names.reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), tree);
}

/** Freezes lists and plain objects all the way down; class instances belong to whoever made them. */
export function deepFreeze<T>(value: T): T {
  if ((!Array.isArray(value) && !isPlain(value)) || Object.isFrozen(value)) return value;
  // What a getter gives is not asked for: it may be costly.
  for (const { value: inner } of Object.values(Object.getOwnPropertyDescriptors(value))) deepFreeze(inner);
  return Object.freeze(value);
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (!isObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
