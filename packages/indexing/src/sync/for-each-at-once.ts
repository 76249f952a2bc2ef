import pLimit from "p-limit";

/** Works on the items in their order, so many at a time. After a failure the others end with the item they have. */
export async function forEachAtOnce<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const limit = pLimit({ concurrency: atOnce, rejectOnClear: true });
  const all = items.map((item) =>
    limit(async () => {
      try {
        await work(item);
      } catch (error) {
        limit.clearQueue();
        throw error;
      }
    }),
  );
  try {
    await Promise.all(all);
  } catch (error) {
    await Promise.allSettled(all);
    throw error;
  }
}
