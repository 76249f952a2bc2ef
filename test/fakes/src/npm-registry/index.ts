import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A package with one version. */
export interface PublishedPackage {
  /** Its package.json. */
  manifest: { name: string; version: string } & Record<string, unknown>;
  /** As `npm pack` makes it. */
  tarball: Buffer;
}

/** An npm registry on 127.0.0.1 that knows what was published to it and nothing else. */
export interface NpmRegistry {
  url: string;
  /** What was asked for, in this order: names of packages and of tarballs. */
  log: string[];
  publish(published: PublishedPackage): void;
  /** True: takes requests and does not answer. */
  hold(isHeld: boolean): void;
}

/** It is closed after the test. */
export async function startNpmRegistry(): Promise<NpmRegistry> {
  const packages = new Map<string, PublishedPackage>();
  const log: string[] = [];
  let isHeld = false;
  const server = createServer(({ url = "/", headers }, response) => {
    const wanted = decodeURIComponent(url.slice(1));
    log.push(wanted);
    if (!isHeld) answer(packages, { wanted, host: headers.host ?? "", response });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    log,
    publish: (published) => void packages.set(published.manifest.name, published),
    hold: (held) => void (isHeld = held),
  };
}

function answer(
  packages: ReadonlyMap<string, PublishedPackage>,
  { wanted, host, response }: { wanted: string; host: string; response: ServerResponse },
): void {
  const [name = "", file] = wanted.split("/-/");
  const published = packages.get(name);
  if (published === undefined) return void response.writeHead(404).end("{}");
  const { manifest, tarball } = published;
  if (file !== undefined) return void response.writeHead(200).end(tarball);
  const { version } = manifest;
  const dist = {
    tarball: `http://${host}/${name}/-/${version}.tgz`,
    integrity: `sha512-${createHash("sha512").update(tarball).digest("base64")}`,
  };
  const packument = { name, "dist-tags": { latest: version }, versions: { [version]: { ...manifest, dist } } };
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(packument));
}
