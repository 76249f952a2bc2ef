/** What the command ends with. Part of its API. */
export const ExitCode = {
  /** Done. No results is an answer too. */
  ok: 0,
  error: 1,
  /** The command line cannot be understood, or an argument is out of range. */
  usage: 2,
  /** Done, but some files could not be indexed, or an embedding provider has to be asked again for some vectors. */
  partial: 3,
  /** Not done: another process is at work on the same index. */
  busy: 4,
  /** The terminal that a server was started from has gone. */
  hungUp: 129,
  interrupted: 130,
  terminated: 143,
} as const;

/** The worse of two outcomes of one run. */
export function worseExitCode(left: number, right: number): number {
  const order: readonly number[] = [ExitCode.ok, ExitCode.partial, ExitCode.busy, ExitCode.usage, ExitCode.error];
  return order.indexOf(right) > order.indexOf(left) ? right : left;
}
