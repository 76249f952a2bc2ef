import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type PackedPackage, packumentOf } from "./packed-package.ts";
import { createUpstream, type Upstream } from "./registry-upstream.ts";

export interface RegistryOptions {
  readonly packages: readonly PackedPackage[];
  /** Where what came from the machine's registry is kept for runs without a network. */
  readonly cacheFolder: string;
}

export interface Registry {
  /** With a slash at the end, as it stands in an `.npmrc`. */
  readonly url: string;
  /** Adds a package, as publishing it would. */
  publish(added: PackedPackage): void;
  close(): Promise<void>;
}

/** An npm registry on 127.0.0.1 that serves packed packages; all others come from the machine's own registry. */
export async function startRegistry(options: RegistryOptions): Promise<Registry> {
  const packages = new Map(options.packages.map((packed) => [packed.name, packed]));
  const upstream = await createUpstream(options.cacheFolder);
  const server = createServer((request, response) => {
    void answer(request, response, { packages, upstream }).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    publish: (added) => void packages.set(added.name, added),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { packages, upstream }: { packages: ReadonlyMap<string, PackedPackage>; upstream: Upstream },
): Promise<void> {
  const place = request.url ?? "/";
  const here = `http://${request.headers.host}/`;
  const wanted = decodeURIComponent(place.slice(1));
  const packed = packages.get(wanted);
  if (packed) return sendJson(response, packumentOf(packed, `${here}${wanted}/-/${packed.fileName}`));
  const file = [...packages.values()].find((each) => wanted === `${each.name}/-/${each.fileName}`);
  if (file) return void response.writeHead(200, { "content-type": "application/octet-stream" }).end(file.bytes);
  // Audits and the like: nothing that an installation waits for.
  if (request.method !== "GET") return void response.writeHead(404).end("{}");
  const found = await upstream.get(place, { accept: request.headers.accept, here });
  response.writeHead(found.status, found.headers).end(found.body);
}

function sendJson(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
}
