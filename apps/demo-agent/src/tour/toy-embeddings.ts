import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

/** A local server with the embeddings API of OpenAI, as far as the tour needs it. */
export interface ToyEmbeddings {
  readonly baseUrl: string;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Groups of synonyms. */
const meanings: readonly (readonly string[])[] = [
  ["cat", "kitten", "pet", "momo"],
  ["chicken", "poultry"],
  ["itch", "itchy", "allergy", "allergic", "intolerance"],
  ["landlord", "rent", "lease", "flat"],
  ["dentist", "tooth", "doctor"],
];
const otherWords = 128;

export async function startToyEmbeddings(): Promise<ToyEmbeddings> {
  const server = createServer(async (request, response) => {
    try {
      const { input } = (await json(request)) as { input: string[] };
      const data = input.map((text, index) => ({ object: "embedding", index, embedding: toyVector(text) }));
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ object: "list", data }));
    } catch {
      response.writeHead(400).end();
    }
  });
  const listen = (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once("error", reject).listen(port, "127.0.0.1", () => {
        server.off("error", reject);
        resolve();
      });
    });
  await listen(0);
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    start: () => listen(port),
    stop: () =>
      new Promise((resolve) => {
        // An error means that it is stopped already.
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A heavy dimension for each group, and a hundred light ones for all other words. */
function toyVector(text: string): number[] {
  const vector = Array.from({ length: meanings.length + otherWords }, () => 0);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [""]) {
    const meaning = meanings.findIndex((row) => row.includes(word) || row.includes(word.replace(/s$/, "")));
    const hash = [...word].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 1_000_003, 7);
    vector[meaning < 0 ? meanings.length + (hash % otherWords) : meaning] = meaning < 0 ? 1 : 4;
  }
  return vector;
}
