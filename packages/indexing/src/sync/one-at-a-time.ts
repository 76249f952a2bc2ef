/** Runs what it is given one after the other, whatever comes of each. */
export function oneAtATime(): <Result>(run: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return async (run) => {
    const own = last.then(run);
    last = own.catch(() => undefined);
    return await own;
  };
}
