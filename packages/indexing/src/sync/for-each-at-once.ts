import pLimit from "p-limit";

/** Works on the items in their order, so many at a time. After a failure the others end with the item they have. */
export async function forEachAtOnce<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const limit = pLimit(atOnce);
  let failure: { error: unknown } | undefined;
  await limit.map(items, async (item) => {
    if (failure) return;
    try {
      await work(item);
    } catch (error) {
      failure ??= { error };
    }
  });
  if (failure) throw failure.error;
}
