import type { ConfigKey } from "./keys.ts";
import { isObject } from "./deep.ts";

const hidden = "(set)";

/** Words that begin like the keys of well-known services. */
const keyLike =
  /\b(?:sk|pk|rk|jina|voyage|pa)-[\w-]{6,}|\b(?:gh[a-z]|github_pat|xox[a-z]|hf)[_-][\w-]{6,}|\bAIza[\w-]{10,}|\bAKIA\w{10,}|\bBearer\s+\S+/g;
const secretName = /key|token|secret|password|passwd|credential|auth|cookie/i;

/** A value that may be printed: secrets are replaced by `(set)`. */
export function redactValue(key: ConfigKey, value: unknown): unknown {
  if (value === undefined) return undefined;
  if (key.secret === true)
    return isObject(value) ? Object.fromEntries(Object.keys(value).map((name) => [name, hidden])) : hidden;
  if (key.type === "path" || key.type === "paths" || key.type === "extraPaths") return value;
  if (key.type === "url" && typeof value === "string") return redactAddress(value);
  return redactDeep(value);
}

/** Text with what looks like a key taken out. */
export function redactText(text: string): string {
  return redactAddress(text.replaceAll(keyLike, hidden));
}

function redactDeep(value: unknown): unknown {
  if (typeof value === "string") return redactText(value);
  if (Array.isArray(value)) return value.map(redactDeep);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      secretName.test(name) && typeof inner !== "boolean" ? hidden : redactDeep(inner),
    ]),
  );
}

/** An address without the name and password before its host, and without the values after `?`. */
function redactAddress(text: string): string {
  return text
    .replace(/^([a-z][a-z\d+.-]*:\/\/)[^/?#]*@/i, `$1${hidden}@`)
    .replace(/^([a-z][a-z\d+.-]*:\/\/[^?#]*)\?.*$/i, `$1?${hidden}`);
}
