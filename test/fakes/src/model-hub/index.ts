import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";

/** How a hub answers, from the next request on. */
export interface HubBehaviour {
  /** Instead of the file. */
  status?: number | undefined;
  /** Any other one is refused with 401. */
  token?: string | undefined;
  /** What it says of the content; by default what is true. `none`: nothing. */
  sha256?: string | undefined;
  /** What it says of the size, in bytes; by default what is true. */
  size?: number | undefined;
  /** The tag of the content at the place that keeps it. `none`: nothing. */
  etag?: string | undefined;
  /** False: every answer begins at the first byte. */
  ranges?: boolean | undefined;
  /** False: the length of the content is not said. */
  length?: boolean | undefined;
  /** Sends this much and then nothing more (`hang`), or breaks the connection (`break`). */
  stopAfter?: { bytes: number; how: "hang" | "break" } | undefined;
  /** Milliseconds between pieces of 32 KiB. */
  pauseMs?: number | undefined;
  /** True: takes requests and does not answer. */
  isSilent?: boolean | undefined;
  /** Where the hub sends one to, in place of its store. */
  location?: string | undefined;
}

export interface HubRequest {
  place: "hub" | "store";
  path: string;
  authorization: string | undefined;
  range: string | undefined;
  ifRange: string | undefined;
}

/**
 * A model hub on this machine: it knows one file by any path, says its checksum and its size, and leads to a store at
 * another address, which sends it.
 */
export interface Hub {
  url: string;
  /** The store, which can be asked without the hub. */
  storeUrl: string;
  log: HubRequest[];
  /** Requests to the store. */
  fetches(): HubRequest[];
  behave(behaviour: HubBehaviour): void;
}

export async function startHub(content: Buffer, first: HubBehaviour = {}): Promise<Hub> {
  let behaviour = first;
  const log: HubRequest[] = [];
  const note = (place: HubRequest["place"], { url = "", headers }: IncomingMessage): void => {
    const { authorization, range, "if-range": ifRange } = headers;
    log.push({ place, path: url, authorization, range, ifRange: typeof ifRange === "string" ? ifRange : undefined });
  };
  const storeUrl = await listen((request, response) => {
    note("store", request);
    void sendContent(content, behaviour, request, response);
  });
  const url = await listen((request, response) => {
    note("hub", request);
    const { status, token, isSilent, location = `${storeUrl}/content` } = behaviour;
    if (isSilent === true) return;
    if (status !== undefined) return void response.writeHead(status).end("no");
    if (token !== undefined && request.headers.authorization !== `Bearer ${token}`)
      return void response.writeHead(401).end("who are you?");
    const sha256 = behaviour.sha256 ?? createHash("sha256").update(content).digest("hex");
    const linked =
      sha256 === "none" ? {} : { "x-linked-etag": `"${sha256}"`, "x-linked-size": behaviour.size ?? content.length };
    response.writeHead(302, { ...linked, location }).end();
  });
  return {
    url,
    storeUrl,
    log,
    fetches: () => log.filter(({ place }) => place === "store"),
    behave: (next) => void (behaviour = next),
  };
}

async function sendContent(
  content: Buffer,
  behaviour: HubBehaviour,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { ranges = true, length = true, etag = '"content-1"', stopAfter, pauseMs } = behaviour;
  const ifRange = request.headers["if-range"];
  const asked = ranges && (ifRange === undefined || ifRange === etag) ? request.headers.range : undefined;
  const from = Number(/^bytes=(\d+)-$/.exec(asked ?? "")?.[1] ?? 0);
  if (from > 0 && from >= content.length) return void response.writeHead(416).end();
  const headers: Record<string, string | number> = etag === "none" ? {} : { etag };
  if (length) headers["content-length"] = content.length - from;
  if (from > 0) headers["content-range"] = `bytes ${from}-${content.length - 1}/${content.length}`;
  response.writeHead(from > 0 ? 206 : 200, headers);
  const end = Math.min(content.length, stopAfter === undefined ? content.length : stopAfter.bytes);
  for (let at = from; at < end;) {
    const next = Math.min(end, at + 32 * 1024);
    response.write(content.subarray(at, next));
    at = next;
    if (pauseMs !== undefined) await sleep(pauseMs);
    if (response.destroyed) return;
  }
  if (stopAfter === undefined) response.end();
  else if (stopAfter.how === "break") setTimeout(() => response.destroy(), 50);
}

async function listen(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server: Server = createServer(handle);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** An address at which nothing listens. */
export async function deadUrl(): Promise<string> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return `http://127.0.0.1:${port}`;
}
