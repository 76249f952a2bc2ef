import checks from "./chosen-checks.json" with { type: "json" };

/** The part of the kit's `TestRunner` that this file needs. */
interface Runner<Body> {
  describe(name: string, body: () => void): unknown;
  test(name: string, options: { timeout: number }, body: Body): unknown;
}

/**
 * Registers only the named checks of a conformance suite. `npm test` runs the whole suite once on memory-core and on the
 * in-memory reference; every other backend runs these checks, and the whole suite with `npm run test:long`.
 * A last test fails if a name matches no check: a renamed check must not leave silently.
 */
export function chosenChecks<Body>(
  runner: Runner<Body>,
  names: readonly string[],
  register: (chosen: Runner<Body>) => void,
): void {
  const missing = new Set(names);
  register({
    describe: (name, body) => runner.describe(name, body),
    test(name, options, body) {
      if (!names.includes(name) && !name.startsWith("deviations: ")) return;
      missing.delete(name);
      runner.test(name, options, body);
    },
  });
  // The bodies of `describe` run later than this function: only a test sees what all of them have registered.
  const everyNameExists = (): void => {
    if (missing.size > 0) throw new Error(`the suite has no check of these names: ${[...missing].join("; ")}`);
  };
  runner.describe("chosen checks", () =>
    runner.test("each name is that of a check", { timeout: 10_000 }, everyNameExists as Body),
  );
}

/** One check of each promise that a memory backend could break alone. */
export const chosenMemoryChecks: readonly string[] = checks.memory;

/** One check of each promise that a chunk store could break alone. */
export const chosenStoreChecks: readonly string[] = checks.store;
