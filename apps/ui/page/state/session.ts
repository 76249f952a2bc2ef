import { signal } from "@preact/signals";
import type { Facts } from "../../src/api/facts.ts";
import { AskError, ask } from "./ask.ts";
import { keep } from "./kept.ts";

/** `locked`: not signed in. `offline`: disconnected. */
export const session = signal<"starting" | "open" | "locked" | "offline">("starting");
export const facts = signal<Facts | undefined>(undefined);

/** Exchanges the secret in the address for a token, removes it from the address, and loads the facts. */
export async function startSession(): Promise<void> {
  const secret = new URLSearchParams(location.hash.slice(1)).get("secret");
  if (secret !== null) {
    history.replaceState(history.state, "", location.pathname + location.search);
    const login = ask<{ token: string }>("/api/login", { body: { secret } });
    await login.then(({ token }) => keep("token", token)).catch(told);
  }
  await lookAgain();
}

/** Checks whether the server answers and accepts this page. */
export async function lookAgain(): Promise<void> {
  try {
    facts.value = await ask<Facts>("/api/facts");
    session.value = "open";
  } catch (error) {
    told(error);
  }
}

/** Updates the session from the failure of a request. */
export function told(error: unknown): void {
  if (!(error instanceof AskError)) return;
  if (error.status === 401) session.value = "locked";
  else if (error.status === 0) session.value = "offline";
}
