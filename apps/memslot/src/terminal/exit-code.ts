/** The exit codes of the command, part of its API. */
export const ExitCode = {
  ok: 0,
  error: 1,
  /** Wrong usage or an argument out of range. */
  usage: 2,
  /** Incomplete: some files failed, or the embedding provider has to be tried again. */
  partial: 3,
  /** Not done: another process is writing to the index. */
  busy: 4,
  /** The terminal of a server was closed. */
  hungUp: 129,
  interrupted: 130,
  terminated: 143,
} as const;

/** The worse of two outcomes of one run. */
export function worseExitCode(left: number, right: number): number {
  const order: readonly number[] = [ExitCode.ok, ExitCode.partial, ExitCode.busy, ExitCode.usage, ExitCode.error];
  return order.indexOf(right) > order.indexOf(left) ? right : left;
}
