/** Works on the items in their order, so many at a time. After a failure the others end with the item they have. */
export async function forEachAtOnce<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  let failed = false;
  const workers = Array.from({ length: Math.min(atOnce, items.length) }, async () => {
    for (const item of queue) {
      if (failed) return;
      try {
        await work(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  });
  try {
    await Promise.all(workers);
  } catch (error) {
    await Promise.allSettled(workers);
    throw error;
  }
}
