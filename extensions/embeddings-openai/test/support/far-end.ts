import { vi } from "vitest";

export interface Sent {
  url: string;
  headers: Record<string, string>;
  body: unknown;
}

/**
 * Puts a far end in the place of every host, so that addresses can be asked that are none of this machine. Answers one
 * vector for each text. Undone by `vi.unstubAllGlobals`.
 */
export function stubFarEnd(answer: (sent: Sent) => Response = vectorsFor): Sent[] {
  const log: Sent[] = [];
  vi.stubGlobal("fetch", async (url: URL, init: RequestInit = {}) => {
    const body: unknown = typeof init.body === "string" ? JSON.parse(init.body) : undefined;
    const sent = { url: url.href, headers: Object.fromEntries(new Headers(init.headers)), body };
    log.push(sent);
    return answer(sent);
  });
  return log;
}

function vectorsFor({ body }: Sent): Response {
  const { input } = body as { input: string[] };
  const data = input.map((_, index) => ({ object: "embedding", index, embedding: [1, 0, index] }));
  return Response.json({ object: "list", data, usage: { total_tokens: 3 } });
}
