import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { bearerOf, isSameSecret } from "@memslot/core/loopback";
import { type Asked, RouteError } from "./answer-request.ts";

export interface LoginOptions {
  /** In the fragment of the printed address, which browsers send to no server. Valid for one login. */
  secret: string;
  /** The file with the signing key. A new key revokes all tokens. */
  keyFile: string;
}

export interface Login {
  /** Whether a request comes from a signed-in page. */
  signedIn: (request: IncomingMessage) => boolean;
  /** `POST /api/login` exchanges the secret of the address for a bearer token of 7 days, signed for this port. */
  enter: (asked: Pick<Asked, "body">) => { token: string };
}

const lifetimeMs = 7 * 24 * 60 * 60 * 1000;
const leastKeyLength = 16;

export function createLogin({ secret, keyFile }: LoginOptions, port: number): Login {
  let unused: string | undefined = secret;
  const signature = (end: string): string | undefined => {
    const key = keyIn(keyFile);
    return key && createHmac("sha256", key).update(`memslot ui\n${port}\n${end}`).digest("base64url");
  };
  return {
    signedIn({ headers: { authorization } }) {
      const [end = "", given = ""] = bearerOf(authorization)?.split(".") ?? [];
      const expected = signature(end);
      return expected !== undefined && isSameSecret(given, expected) && Number(end) > Date.now();
    },
    enter({ body: { secret: given } }) {
      const end = String(Date.now() + lifetimeMs);
      const signed = signature(end);
      if (unused === undefined || typeof given !== "string" || !isSameSecret(given, unused))
        throw new RouteError("UNAUTHORIZED", "this address has been used, or is an old one: start memslot ui again");
      if (signed === undefined) throw new RouteError("UNAUTHORIZED", "the key is gone: start memslot ui again");
      unused = undefined;
      return { token: `${end}.${signed}` };
    },
  };
}

function keyIn(file: string): string | undefined {
  try {
    const key = readFileSync(file, "utf8").trim();
    return key.length < leastKeyLength ? undefined : key;
  } catch {
    return undefined; // Removed since.
  }
}
