import { signal } from "@preact/signals";
import type { Facts } from "../../src/api/facts.ts";
import { AskError, ask } from "./ask.ts";
import { keep } from "./kept.ts";

/** `locked`: the server does not know this browser. `offline`: it gives no answer. */
export const session = signal<"starting" | "open" | "locked" | "offline">("starting");
export const facts = signal<Facts | undefined>(undefined);

/** Exchanges the secret in the address for a token of this browser, takes it out of the address, and asks what this page is about. */
export async function startSession(): Promise<void> {
  const secret = new URLSearchParams(location.hash.slice(1)).get("secret");
  if (secret !== null) {
    history.replaceState(history.state, "", location.pathname + location.search);
    const login = ask<{ token: string }>("/api/login", { body: { secret } });
    await login.then(({ token }) => keep("token", token)).catch(told);
  }
  await lookAgain();
}

/** Whether the server is there, and lets this page in. */
export async function lookAgain(): Promise<void> {
  try {
    facts.value = await ask<Facts>("/api/facts");
    session.value = "open";
  } catch (error) {
    told(error);
  }
}

/** A failure of any request says how it stands. */
export function told(error: unknown): void {
  if (!(error instanceof AskError)) return;
  if (error.status === 401) session.value = "locked";
  else if (error.status === 0) session.value = "offline";
}
