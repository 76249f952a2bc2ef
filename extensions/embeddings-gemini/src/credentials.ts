import { type EmbeddingPluginContext, MemoryError } from "@memslot/core";
import type { BaseUrl } from "./base-url.ts";

/** The part of the context that addresses and keys are taken from. */
export type CredentialContext = Pick<EmbeddingPluginContext, "settings" | "providers" | "environment">;

/** A key and where it came from. */
export interface FoundKey {
  value: string;
  source: string;
}

/** The names under which `models.providers` may hold Google. */
export const providerNames: readonly string[] = ["google", "gemini"];

/** With `provider: "auto"`, what stands under `remote` was written for another provider. */
export function isChosenByAuto({ settings }: Pick<CredentialContext, "settings">): boolean {
  return ["auto", ""].includes(settings.provider.trim().toLowerCase());
}

/**
 * The first key that is set, whether or not it can be right. `GOOGLE_API_KEY` is often the key of another service of
 * Google, and counts only where this provider is asked for by name.
 */
export function findKey(context: CredentialContext): FoundKey | undefined {
  const { settings, providers, environment } = context;
  const isAuto = isChosenByAuto(context);
  const places: readonly (readonly [source: string, value: string | undefined])[] = [
    ["remote.apiKey", isAuto ? undefined : settings.remote.apiKey],
    ...providerNames.map((name) => [`models.providers.${name}.apiKey`, providers[name]?.apiKey] as const),
    ["GEMINI_API_KEY", environment("GEMINI_API_KEY")],
    ["GOOGLE_API_KEY", isAuto ? undefined : environment("GOOGLE_API_KEY")],
  ];
  for (const [source, value] of places) if (value !== undefined && value.trim() !== "") return { value, source };
  return undefined;
}

/** Throws `CONFIG` for a key that cannot be right, with where it came from and without the key. */
export function checkKey({ value, source }: FoundKey): void {
  const problem = problemOf(value);
  if (problem !== undefined) throw new MemoryError("CONFIG", `the key from ${source} cannot be right: ${problem}`);
}

/**
 * Throws `CONFIG` for a key that would go over the network for everybody to read, to an address that it was not written
 * for.
 */
export function checkDestination({ source }: FoundKey, { isEncrypted, hostname, host, source: asked }: BaseUrl): void {
  if (isEncrypted || source === "remote.apiKey" || isThisMachine(hostname)) return;
  if (asked === source.replace(/apiKey$/, "baseUrl")) return;
  throw new MemoryError(
    "CONFIG",
    `${asked} begins with http://, and the key from ${source} was not written for ${host}: write https://, or set remote.apiKey`,
  );
}

/** Throws `CONFIG` for a header that cannot be sent, with its name and without its value. */
export function checkHeader(name: string, value: string): void {
  try {
    new Headers().set(name, value);
  } catch {
    // No cause: its words hold the value.
    throw new MemoryError(
      "CONFIG",
      `remote.headers: ${JSON.stringify(name)} cannot be sent: a name has letters, digits and hyphens, a value is one line of plain characters`,
    );
  }
}

function problemOf(key: string): string | undefined {
  if (/\$\{|^\$\w+$/.test(key))
    return "it is the name of a variable in place of the key; set that variable, or write the key";
  if (/["'`“”‘’]/.test(key)) return "it has quotes around or in it; leave them out";
  if (/\s/.test(key)) return "it has white space (a blank or a line break) around or in it; leave it out";
  if (/[^\x21-\x7e]/.test(key)) return "it has a character that no key has; copy it anew";
  return undefined;
}

function isThisMachine(hostname: string): boolean {
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}
