/** Lets so many pieces of work run at once; the others wait, and begin in the order in which they came. */
export function createGate(most: number): <Result>(work: () => Promise<Result>) => Promise<Result> {
  const waiting: (() => void)[] = [];
  let running = 0;

  return async (work) => {
    if (running >= most) await new Promise<void>((begin) => waiting.push(begin));
    else running++;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      // The place goes over to the one that waits longest.
      if (next) next();
      else running--;
    }
  };
}
