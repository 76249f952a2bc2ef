import { MemoryError } from "@memslot/core";

/** Where the Gemini API lives. */
export interface BaseUrl {
  /** Without version, without a slash at its end. */
  address: string;
  /** The first part of each path below it. */
  version: string;
  /** Host and port. */
  host: string;
  hostname: string;
  isEncrypted: boolean;
  /** The key of the configuration that it comes from; undefined: it is Google's own. */
  source: string | undefined;
}

/** The host of Google's own interface. */
export const googleHost = "generativelanguage.googleapis.com";

// Everything that is used here is described for this version; the SDK would take `v1`.
const usualVersion = "v1beta";

/**
 * Reads a base URL; a version at its end is used in place of the usual one, and `/openai` behind that is dropped, as it
 * leads to Google's imitation of another interface. Throws `CONFIG` for an address that cannot be right.
 */
export function readBaseUrl(written: string, source: string | undefined): BaseUrl {
  const text = written.trim();
  const url = URL.parse(text);
  if (!/^https?:\/\//i.test(text) || url === null)
    throw unusable(
      source,
      `has to be a whole address that begins with https:// or http://, as "https://${googleHost}"`,
    );
  if (url.username !== "" || url.password !== "")
    throw unusable(source, "has a name or password before its host: write them into remote.headers or remote.apiKey");
  if (url.search !== "" || url.hash !== "")
    throw unusable(source, "has a ? or # in it: leave out what follows, and write keys into remote.apiKey");
  const whole = `${url.origin}${url.pathname.replace(/\/+$/, "").replace(/\/openai$/, "")}`;
  const [, version] = /\/(v\d+(?:alpha|beta)?\d*)$/.exec(whole) ?? [];
  const isEncrypted = url.protocol === "https:";
  if (!isEncrypted && url.hostname === googleHost)
    throw unusable(
      source,
      "begins with http://, which would send notes and key to Google for everybody to read: write https://",
    );
  return {
    address: version === undefined ? whole : whole.slice(0, -version.length - 1),
    version: version ?? usualVersion,
    host: url.host,
    hostname: url.hostname,
    isEncrypted,
    source,
  };
}

function unusable(source: string | undefined, problem: string): MemoryError {
  return new MemoryError("CONFIG", `${source ?? "the base URL"} ${problem}`);
}
