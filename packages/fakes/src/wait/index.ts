/** Waits until something has come true; fails when it has not for half a minute. */
export async function eventually(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (const until = Date.now() + 30_000; Date.now() < until;) {
    if (await isTrue()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("it did not come true");
}
