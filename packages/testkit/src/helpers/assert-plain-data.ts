import assert from "node:assert/strict";

/** Expects a value that JSON can carry: no functions, no cycles, no numbers that are none. Absent fields may be undefined. */
export function assertPlainData(value: unknown, where: string, seen: readonly unknown[] = []): void {
  if (value === null || value === undefined || typeof value === "string" || typeof value === "boolean") return;
  if (typeof value === "number") return assert.ok(Number.isFinite(value), `${where} is ${value}`);
  assert.equal(typeof value, "object", `${where} is a ${typeof value}`);
  assert.ok(!seen.includes(value), `${where} holds itself`);
  const prototype: unknown = Object.getPrototypeOf(value);
  assert.ok(
    Array.isArray(value) || prototype === Object.prototype || prototype === null,
    `${where} is not a plain object`,
  );
  for (const [key, field] of Object.entries(value as object))
    assertPlainData(field, `${where}.${key}`, [...seen, value]);
}
