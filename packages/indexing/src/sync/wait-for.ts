/** What an outcome is, or after `limitMs` what there is to say without it. Rejects with the reason of an abort. */
export async function waitFor<Outcome>(
  outcome: Promise<Outcome>,
  limitMs: number | undefined,
  signal: AbortSignal,
  otherwise: () => Outcome,
): Promise<Outcome> {
  signal.throwIfAborted();
  return await new Promise((resolve, reject) => {
    const timer = limitMs === undefined ? undefined : setTimeout(() => resolve(otherwise()), limitMs);
    const stop = (): void => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    outcome.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    });
  });
}
