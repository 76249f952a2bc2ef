import type { Sandbox } from "../run-memslot.ts";
import { type RawServer, startServer } from "./raw-server.ts";

export const token = "a-token-of-the-tests-0123456789";

export interface HttpServer {
  readonly server: RawServer;
  readonly url: URL;
  /** Posts one message, with all that a good client sends; `headers` are laid over it, undefined takes one away. */
  post(message: unknown, headers?: Record<string, string | undefined>, signal?: AbortSignal): Promise<Response>;
}

export async function startHttpServer(
  sandbox: Sandbox,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<HttpServer> {
  const server = startServer(sandbox, ["--http", ...args], { MEMSLOT_MCP_TOKEN: token, ...env });
  await server.saw("the bearer token is");
  const [, address = ""] = /MCP server at (\S+)/u.exec(server.stderr()) ?? [];
  const url = new URL(address);
  return {
    server,
    url,
    post(message, headers = {}, signal) {
      const all: Record<string, string | undefined> = {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      };
      const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
      const body = typeof message === "string" ? message : JSON.stringify(message);
      return fetch(url, { method: "POST", headers: given, body, ...(signal === undefined ? {} : { signal }) });
    },
  };
}
