import { type EmbeddingPluginContext, MemoryError } from "@memslot/core";
import { type FoundKey } from "@memslot/core/providers";
import type { BaseUrl } from "./base-url.ts";

/** The part of the context that addresses and keys are taken from. */
export type CredentialContext = Pick<EmbeddingPluginContext, "settings" | "providers" | "environment">;

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

function isThisMachine(hostname: string): boolean {
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}
