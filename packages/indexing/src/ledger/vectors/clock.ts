/**
 * Milliseconds since 1970 that never come twice: of two things that happened one after the other, the later one has the
 * higher number, also within one millisecond.
 */
export function createClock(): () => number {
  let last = 0;
  return () => (last = Math.max(Date.now(), last + 1));
}
