import { createHash, timingSafeEqual } from "node:crypto";

/** Whether two secrets are the same; the time that it takes says nothing of either. */
export function isSameSecret(given: string, expected: string): boolean {
  return timingSafeEqual(digest(given), digest(expected));
}

/** Of one length whatever is compared. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
