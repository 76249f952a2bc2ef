/** An outcome, or after `limitMs` the reason why an answer is stale. Rejects with the reason of an abort. */
export async function waitFor(
  outcome: Promise<string | undefined>,
  limitMs: number | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  signal.throwIfAborted();
  return await new Promise((resolve, reject) => {
    const stale = "files have changed and are still being indexed";
    const timer = limitMs === undefined ? undefined : setTimeout(() => resolve(stale), limitMs);
    const stop = (): void => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    outcome.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    });
  });
}
