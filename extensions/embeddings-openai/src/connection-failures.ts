import { EmbeddingError, messageOf } from "@memslot/core";
import type { Endpoint } from "./endpoint.ts";
import { withoutSecrets } from "./http-failures.ts";

// By the code of the innermost error that has one, or by the name of the innermost one.
const advice: readonly (readonly [RegExp, string])[] = [
  [/^ECONNREFUSED$/, "is the server running?"],
  [/^ENOTFOUND$/, "there is no host of this name; check the base URL"],
  [/^EAI_AGAIN$/, "the name could not be looked up; is there a network?"],
  [/^(?:EHOSTUNREACH|ENETUNREACH|ENETDOWN)$/, "there is no way to it; is there a network?"],
  [/^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, "the connection ended before the answer was complete"],
  [/^(?:ERR_SSL_|EPROTO)/, "it does not speak TLS; is http:// meant?"],
  [
    /CERT|_SIGNATURE$|_ISSUER/,
    "its certificate is not trusted; NODE_EXTRA_CA_CERTS names a file with more authorities",
  ],
  [/^(?:HPE_|HTTPParserError$)/, "it does not speak HTTP; is https:// meant?"],
];

/** A request that got no whole answer, in words. Always worth another try. `hasCost`: the answer had begun. */
export function connectionFailure(
  error: unknown,
  { base, ...endpoint }: Endpoint,
  isTimeout: boolean,
  { hasCost = false }: { hasCost?: boolean } = {},
): EmbeddingError {
  const code = codeOf(error);
  const shown = code === undefined ? "" : ` (${code})`;
  if (isTimeout)
    return new EmbeddingError("transient", `${base.origin} did not answer in time${shown}`, { cause: error });
  const cause = chain(error).at(-1);
  const known = advice.find(([names]) => names.test(code ?? cause?.name ?? ""))?.[1];
  const words = withoutSecrets(messageOf(cause ?? error), { base, ...endpoint });
  const text = `cannot reach ${base.origin}${shown}: ${known ?? words}`;
  return new EmbeddingError("transient", text, { cause: error, hasCost });
}

function codeOf(error: unknown): string | undefined {
  let code: string | undefined;
  for (const inner of chain(error)) if ("code" in inner && typeof inner.code === "string") code = inner.code;
  return code;
}

function chain(error: unknown): Error[] {
  const errors: Error[] = [];
  for (let at = error; at instanceof Error && errors.length < 8; at = at.cause) errors.push(at);
  return errors;
}
