/** Waits until something holds. */
export async function until(holds: () => boolean, what: string, limitMs = 40_000): Promise<void> {
  const end = performance.now() + limitMs;
  while (!holds()) {
    if (performance.now() > end) throw new Error(`${what}: not within ${limitMs / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
