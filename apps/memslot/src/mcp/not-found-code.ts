import type { Server } from "@modelcontextprotocol/server";

/** What the revisions of 2025 call a resource that is not there; that of 2026-07-28 says -32602. */
const RESOURCE_NOT_FOUND = -32_002;
const INVALID_PARAMS = -32_602;

/** Makes a server for the revisions of 2025 answer with their code: the SDK gives that of 2026 to all. */
export function useOldNotFoundCode(server: Server): void {
  const connect = server.connect.bind(server);
  server.connect = (transport) => {
    const send = transport.send.bind(transport);
    transport.send = (message, options) =>
      send(
        "error" in message && isNotFound(message.error)
          ? { ...message, error: { ...message.error, code: RESOURCE_NOT_FOUND } }
          : message,
        options,
      );
    return connect(transport);
  };
}

/** As the SDK tells it: invalid parameters, with the address and nothing else. */
function isNotFound({ code, data }: { code: number; data?: unknown }): boolean {
  return (
    code === INVALID_PARAMS &&
    typeof data === "object" &&
    data !== null &&
    "uri" in data &&
    Object.keys(data).length === 1
  );
}
