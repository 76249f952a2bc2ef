/** Waits until `isTrue` returns true. Throws an error that names `what` after `limitMs`: the limit only ends a test that hangs. */
export async function eventually(
  isTrue: () => boolean | Promise<boolean>,
  what: string = isTrue.toString(),
  limitMs = 40_000,
): Promise<void> {
  const end = performance.now() + limitMs;
  while (!(await isTrue())) {
    if (performance.now() > end) throw new Error(`${what}: not within ${limitMs / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
