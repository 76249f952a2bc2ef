import { setTimeout as sleep } from "node:timers/promises";

const patienceMs = 5000;
const pauseMs = 5;

/**
 * Closes tables and connections of LanceDB. One of them cannot be closed while a call of it is under way, as happens
 * where the caller of a search was not patient: the library says then that it is borrowed. Such calls are waited for,
 * five seconds at most; what is left after that is freed when they end.
 */
export async function closeNative(...natives: readonly { close(): void }[]): Promise<void> {
  const until = performance.now() + patienceMs;
  for (const native of natives) {
    while (!closesNow(native) && performance.now() < until) await sleep(pauseMs);
  }
}

function closesNow(native: { close(): void }): boolean {
  try {
    native.close();
    return true;
  } catch (error) {
    if (error instanceof Error && error.message.includes("borrow")) return false;
    throw error;
  }
}
