import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { allTextOf, errorOf, open } from "../test/places.ts";

/** Answers as a host of LanceDB Cloud that knows no table: enough to see what it is asked, and with which key. */
async function startCloud(status: number): Promise<{ url: string; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    response.writeHead(status, { "content-type": "application/json" });
    response.end(status === 200 ? '{"tables":[]}' : '{"error":{"code":4,"detail":"no"}}');
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

const apiKey = "sk_cloud_0123456789";

test("the key is sent to the host, and stands nowhere else", async () => {
  const cloud = await startCloud(404);
  const place = await open({ dbPath: "db://team", apiKey, hostOverride: cloud.url }, { mayCreate: false });
  expect(place).toMatchObject({ kind: "cloud", location: "db://team", tablePrefix: "main." });
  expect(await place.leases?.holder("files")).toBeUndefined();
  expect(cloud.requests.map(({ headers }) => headers["x-api-key"])).toContain(apiKey);
  expect(cloud.requests.every(({ url }) => !url?.includes(apiKey))).toBe(true);
  expect(cloud.requests.some(({ url }) => url?.includes("main.v2_leases"))).toBe(true);
});

test("a key that is refused is UNAVAILABLE and names the option", async () => {
  const cloud = await startCloud(401);
  const error = await errorOf(open({ dbPath: "db://team", apiKey, hostOverride: cloud.url }));
  expect(error).toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringMatching(
      /db:\/\/team at http:\/\/127.*refuses access.*check plugins\.entries\.memory-lancedb\.config\.apiKey/,
    ),
  });
  expect(allTextOf(error)).not.toContain(apiKey);
});

test("a host that cannot be reached is UNAVAILABLE", async () => {
  const error = await errorOf(open({ dbPath: "db://team", apiKey, hostOverride: "http://127.0.0.1:1" }));
  expect(error).toMatchObject({ code: "UNAVAILABLE", message: expect.stringContaining("cannot be reached") });
  expect(allTextOf(error)).not.toContain(apiKey);
});

test("no key, or a host that is no address, is a CONFIG error", async () => {
  expect(await errorOf(open({ dbPath: "db://team" }))).toMatchObject({
    code: "CONFIG",
    message: expect.stringContaining("plugins.entries.memory-lancedb.config.apiKey is missing"),
  });
  expect(await errorOf(open({ dbPath: "db://team", apiKey, hostOverride: "cloud" }))).toMatchObject({
    code: "CONFIG",
    message: expect.stringContaining("config.hostOverride is no address"),
  });
});
