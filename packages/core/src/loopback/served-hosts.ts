import type { IncomingMessage } from "node:http";

/** A loopback address with its port, as it stands in a URL. */
export interface LoopbackPlace {
  host: string;
  port: number;
}

/** The address for people: `http://127.0.0.1:7331`. */
export function loopbackUrl({ host, port }: LoopbackPlace): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/**
 * Says why a request is not for this server by its `Host` and `Origin`; undefined for one that is. A web page that had its
 * name lead to this machine is turned away before it learns anything.
 */
export function createHostCheck(place: LoopbackPlace): (request: IncomingMessage) => string | undefined {
  // Through URL, which leaves the usual port out as a client does.
  const origins = new Set(
    [loopbackUrl(place), loopbackUrl({ ...place, host: "localhost" })].map((url) => new URL(url).origin),
  );
  return ({ headers: { host, origin } }) => {
    if (!origins.has(originOf(`http://${host ?? ""}`) ?? "")) return "this Host is not served";
    if (origin !== undefined && !origins.has(originOf(origin) ?? "")) return "this Origin is not served";
    return undefined;
  };
}

function originOf(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.pathname === "/" && url.username === "" && url.search === "" && url.hash === "" ? url.origin : undefined;
}
