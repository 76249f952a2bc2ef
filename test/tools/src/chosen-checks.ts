import checks from "./chosen-checks.json" with { type: "json" };

// `npm test` runs each suite of the kit in full on memory-core and on the in-memory reference. Every other backend runs
// these checks with `only`, and the whole suite with `npm run test:long`.

/** One check of each promise that a memory backend could break alone. */
export const chosenMemoryChecks: readonly string[] = checks.memory;

/** One check of each promise that a chunk store could break alone. */
export const chosenStoreChecks: readonly string[] = checks.store;
