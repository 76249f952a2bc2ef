/** Deeper values are refused before they overflow the stack. */
const maxDepth = 64;

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns a copy of plain data with every text replaced. Class instances and functions are kept. */
export function mapTexts(value: unknown, change: (text: string) => string, depth = 0): unknown {
  if (typeof value === "string") return change(value);
  if (depth > maxDepth) throw new RangeError("nested too deeply");
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change, depth + 1));
  if (!isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, mapTexts(inner, change, depth + 1)]));
}

/** Whether any text in plain data passes the test. Data nested too deeply counts as passing. */
export function someText(value: unknown, test: (text: string) => boolean, depth = 0): boolean {
  if (typeof value === "string") return test(value);
  if (depth > maxDepth) return true;
  const inner = Array.isArray(value) || isPlain(value) ? Object.values(value) : [];
  return inner.some((item) => someText(item, test, depth + 1));
}

export function valueAt(tree: unknown, names: readonly string[]): unknown {
  return names.reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), tree);
}

/** Freezes lists and plain objects recursively, but no class instances. */
export function deepFreeze<T>(value: T): T {
  if ((!Array.isArray(value) && !isPlain(value)) || Object.isFrozen(value)) return value;
  // Getters are not called: they may be costly.
  for (const { value: inner } of Object.values(Object.getOwnPropertyDescriptors(value))) deepFreeze(inner);
  return Object.freeze(value);
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (!isObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
