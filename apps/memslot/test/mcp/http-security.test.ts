import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import http from "node:http";
import net from "node:net";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createSandbox } from "../run-memslot.ts";
import tables from "./requests.json" with { type: "json" };
import { type HttpServer, startHttpServer, token } from "./server.ts";

const ping = { jsonrpc: "2.0", id: 1, method: "ping" };

interface Answer {
  status: number | undefined;
  headers: http.IncomingHttpHeaders;
  body: string;
}

/** A request with exactly these headers, `Host` included. */
function ask(
  { url }: HttpServer,
  headers: Record<string, string>,
  { method = "POST", to = url.pathname, body = JSON.stringify(ping) } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const all = { host: url.host, "content-type": "application/json", accept: "application/json, text/event-stream" };
    const request = http.request(
      { host: url.hostname, port: url.port, path: to, method, headers: { ...all, ...headers }, timeout: 30_000 },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => (text += part));
        response.once("end", () => resolve({ status: response.statusCode, headers: response.headers, body: text }));
      },
    );
    request.once("error", reject).end(method === "POST" ? body : undefined);
  });
}

const authorization = `Bearer ${token}`;

describe("over HTTP a request", () => {
  test("without the token is told what is missing, and with another one that it is wrong", async () => {
    const server = await startHttpServer(await createSandbox());
    const { port } = server.url;
    for (const wrong of ["", "Bearer", `Basic ${token}`, token]) {
      const { status, headers, body } = await ask(server, wrong === "" ? {} : { authorization: wrong });
      expect({ wrong, status }).toEqual({ wrong, status: 401 });
      expect(headers["www-authenticate"]).toBe('Bearer realm="memslot"');
      expect(JSON.parse(body)).toMatchObject({
        jsonrpc: "2.0",
        error: { message: "a bearer token is needed" },
        id: null,
      });
    }
    for (const wrong of [`${token}x`, token.slice(0, -1), token.toUpperCase(), "x"]) {
      const { status, headers } = await ask(server, { authorization: `Bearer ${wrong}` });
      expect({ wrong, status }).toEqual({ wrong, status: 401 });
      expect(headers["www-authenticate"]).toContain('error="invalid_token"');
    }
    expect(server.server.stderr()).not.toContain(token);
    expect((await ask(server, { authorization, host: `localhost:${port}` })).status).toBe(200);
    expect((await ask(server, { authorization: `bearer ${token}` })).status).toBe(200);
  });

  test("with a foreign Host or Origin is refused, with the token too", async () => {
    const server = await startHttpServer(await createSandbox());
    const { port, host } = server.url;
    const filled = (text: string): string => text.replace("{port}", port).replace("{host}", host);
    const wrong = [
      ...tables.hosts.map((name) => ({ host: filled(name) })),
      ...tables.origins.map((name) => ({ origin: filled(name) })),
    ];
    for (const headers of wrong)
      expect([headers, (await ask(server, { authorization, ...headers })).status]).toEqual([headers, 403]);
    for (const right of [`http://${host}`, `http://localhost:${port}`]) {
      const { status, headers } = await ask(server, { authorization, origin: right });
      expect(status).toBe(200);
      expect(Object.keys(headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
    }
  });

  test("of another path or method is refused", async () => {
    const server = await startHttpServer(await createSandbox());
    for (const [to, method, status] of tables.refused as [string, string, number][])
      expect([to, method, (await ask(server, { authorization }, { to, method })).status]).toEqual([to, method, status]);
    expect((await ask(server, {}, { to: "/" })).status).toBe(401);
  });

  test("of more than 4 MB is refused, and the next one is answered", async () => {
    const server = await startHttpServer(await createSandbox());
    const large = JSON.stringify({ ...ping, params: { filling: "a".repeat(5_000_000) } });
    const declared = await ask(server, { authorization, "content-length": String(large.length) }, { body: large });
    expect(declared.status).toBe(413);
    const chunked = await ask(server, { authorization, "transfer-encoding": "chunked" }, { body: large });
    expect(chunked.status).toBe(413);
    expect((await ask(server, { authorization })).status).toBe(200);
  });

  test("that comes with too many others has to wait outside", async () => {
    const server = await startHttpServer(await createSandbox());
    const sockets: net.Socket[] = [];
    onTestFinished(() => sockets.forEach((socket) => socket.destroy()));
    // One is turned away without an answer, and so is every later one as long as the first hundred stay.
    const turnedAway = new Promise<void>((resolve) => {
      for (let index = 0; index < 101; index++) {
        const socket = net.connect(Number(server.url.port), server.url.hostname);
        socket.once("close", () => resolve()).on("error", () => undefined);
        sockets.push(socket);
      }
    });
    await turnedAway;
    expect(sockets.filter((socket) => socket.closed)).toHaveLength(1);
    for (const socket of sockets) socket.destroy();
    const answered = async (): Promise<boolean> =>
      ask(server, { authorization }).then(
        ({ status }) => status === 200,
        () => false,
      );
    let tries = 0;
    while (!(await answered())) expect(tries++).toBeLessThan(1000);
  });
});

describe("the token", () => {
  test("is made at random, kept for its owner alone, and the same the next time", async () => {
    const sandbox = await createSandbox();
    const file = path.join(sandbox.stateDir, "mcp-token");
    const first = await startHttpServer(sandbox, [], { MEMSLOT_MCP_TOKEN: "" });
    expect(first.server.stderr()).toContain(`the bearer token is in ${file}`);
    const made = (await readFile(file, "utf8")).trim();
    expect(made).toMatch(/^[\w-]{43}$/u);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(first.server.stderr()).not.toContain(made);
    expect((await ask(first, { authorization: `Bearer ${made}` })).status).toBe(200);
    expect((await ask(first, { authorization })).status).toBe(401);

    await chmod(file, 0o644);
    const second = await startHttpServer(sandbox, [], { MEMSLOT_MCP_TOKEN: "" });
    expect((await ask(second, { authorization: `Bearer ${made}` })).status).toBe(200);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  test("comes from --token-file before the environment", async () => {
    const sandbox = await createSandbox();
    await writeFile(path.join(sandbox.cwd, "token.txt"), "another-token-from-a-file\n");
    const server = await startHttpServer(sandbox, ["--token-file", "token.txt"]);
    expect((await ask(server, { authorization: "Bearer another-token-from-a-file" })).status).toBe(200);
    expect((await ask(server, { authorization })).status).toBe(401);
  });
});

describe("the address", () => {
  test("is one of this machine only", async () => {
    const server = await startHttpServer(await createSandbox());
    expect(server.url.hostname).toBe("127.0.0.1");
    expect(Number(server.url.port)).toBeGreaterThan(0);
  });

  test("can be that of IPv6", async () => {
    const server = await startHttpServer(await createSandbox(), ["--host", "::1"]);
    expect(server.url.hostname).toBe("[::1]");
    expect((await server.post(ping)).status).toBe(200);
  });

  test("that is taken ends the command with the next step", async () => {
    const sandbox = await createSandbox();
    const { url } = await startHttpServer(sandbox);
    const { exitCode, stderr } = await sandbox.runHere(["mcp", "--http", "--port", url.port]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(new RegExp(`port ${url.port} of 127\\.0\\.0\\.1 is not available: .*--port`, "u"));
  });
});
