import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import tls from "node:tls";
import { type PackedPackage, packumentOf } from "./packing.ts";

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

interface Upstream {
  /** The answer to GET `place`, with the addresses of tarballs turned into ones below `here`. */
  get(place: string, options: { accept: string | undefined; here: string }): Promise<UpstreamAnswer>;
}

interface UpstreamAnswer {
  status: number;
  headers: Record<string, string>;
  body: Buffer | string;
}

const answerTimeoutMs = 60_000;

/**
 * The registry that npm is set up to use on this machine. What it answers is kept in `cacheFolder`: a tarball is asked
 * for once, the list of a package's versions again each time, and the kept one serves when nobody answers.
 */
async function createUpstream(cacheFolder: string): Promise<Upstream> {
  const setting = (name: string): string =>
    execFileSync("npm", ["config", "get", name], {
      encoding: "utf8",
      shell: process.platform === "win32",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  const registry = setting("registry").replace(/\/*$/, "/");
  const certificates = setting("cafile");
  if (existsSync(certificates))
    tls.setDefaultCACertificates([...tls.getCACertificates("default"), readFileSync(certificates, "utf8")]);
  mkdirSync(cacheFolder, { recursive: true });
  return {
    async get(place, { accept, here }) {
      const tarball = /\/-\/[^/]+\.tgz$/.test(place);
      const type = tarball ? "application/octet-stream" : "application/json";
      const name = createHash("sha256").update(`${accept} ${registry} ${place}`).digest("hex").slice(0, 32);
      const kept = path.join(cacheFolder, `${name}.${tarball ? "tgz" : "json"}`);
      const answer = (body: Buffer): UpstreamAnswer => ({
        status: 200,
        headers: { "content-type": type },
        body: tarball ? body : moved(body.toString("utf8"), { from: registry, to: here }),
      });
      if (tarball && existsSync(kept)) return answer(readFileSync(kept));
      let response: Response;
      try {
        response = await fetch(new URL(place.slice(1), registry), {
          headers: { accept: accept ?? "*/*" },
          signal: AbortSignal.timeout(answerTimeoutMs),
        });
      } catch {
        if (existsSync(kept)) return answer(readFileSync(kept));
        // The client has ways to the registry that are not known here: a proxy, a password.
        return { status: 302, headers: { location: new URL(place.slice(1), registry).href }, body: "" };
      }
      const body = Buffer.from(await response.arrayBuffer());
      if (!response.ok) return { status: response.status, headers: { "content-type": type }, body };
      // Renamed into place, so that a run that ends here leaves no half of a file.
      writeFileSync(`${kept}.${process.pid}`, body);
      renameSync(`${kept}.${process.pid}`, kept);
      return answer(body);
    },
  };
}

/** A package's list of versions with the addresses of its tarballs below another registry. */
function moved(packument: string, { from, to }: { from: string; to: string }): string {
  return packument.replaceAll(/("tarball":\s*")([^"]+)/g, (all, before: string, address: string) =>
    address.startsWith(from) ? `${before}${to}${address.slice(from.length)}` : all,
  );
}
