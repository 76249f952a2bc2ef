import { setTimeout as sleep } from "node:timers/promises";

const patienceMs = 5000;
const pauseMs = 5;

/** Closes tables and connections of LanceDB. Waits up to five seconds for running calls, which borrow them. */
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
