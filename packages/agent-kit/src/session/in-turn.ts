/** Runs what it is given one after the other, in the order of the calls. A failure does not hold up the next. */
export type InTurn = <T>(run: () => Promise<T>) => Promise<T>;

export function createTurns(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const turn = last.then(run);
    last = turn.catch(() => undefined);
    return turn;
  };
}
