import { MemoryError } from "@memslot/core";

/** Where the embeddings interface lives. */
export interface BaseUrl {
  /** Without a slash at its end, with the query it was written with. */
  href: string;
  /** The same for people: without the query, which may hold a key. */
  shown: string;
  origin: string;
  /** Host and port. */
  host: string;
  hostname: string;
  isEncrypted: boolean;
  /** `remote.baseUrl`, `models.providers.openai.baseUrl`; undefined for the address of OpenAI itself. */
  source: string | undefined;
}

/** Reads a base URL. Throws `CONFIG` for one that cannot be right. It is used as written: nothing is added to its path. */
export function readBaseUrl(written: string, source: string | undefined): BaseUrl {
  const text = written.trim();
  const url = URL.parse(text);
  if (!/^[a-z][a-z\d+.-]*:\/\//i.test(text) || url === null)
    throw unusable(
      source,
      `is no complete address: write http:// or https://, the host and the path, for example ${example}`,
    );
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw unusable(source, `begins with ${url.protocol}//, but only http:// and https:// can be asked`);
  if (url.username !== "" || url.password !== "")
    throw unusable(source, "has a name or password before its host: write them into remote.headers or remote.apiKey");
  const path = url.pathname.replace(/\/+$/, "");
  const shown = `${url.origin}${path}`;
  const call = /\/(?:embeddings|(?:chat\/)?completions|responses|models)$/i.exec(path)?.[0];
  if (call !== undefined)
    throw unusable(source, `ends in ${call}, which is no part of it: write ${shown.slice(0, -call.length)}`);
  return {
    href: `${shown}${url.search}`,
    shown,
    origin: url.origin,
    host: url.host,
    hostname: url.hostname,
    isEncrypted: url.protocol === "https:",
    source,
  };
}

/** What to say of the base URL when nothing answers below it. */
export function baseUrlAdvice({ shown, origin, source = "the base URL" }: BaseUrl): string {
  if (/\/(?:v\d\w*|openai)(?:\/|$)/i.test(shown.slice(origin.length))) return `check ${source}`;
  const better = shown === origin ? `: ${origin}/v1` : "";
  return `most servers want the base URL to end in /v1${better} (${source})`;
}

const example = "http://127.0.0.1:11434/v1";

function unusable(source: string | undefined, problem: string): MemoryError {
  return new MemoryError("CONFIG", `${source ?? "the base URL"} ${problem}`);
}
