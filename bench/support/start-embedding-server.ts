import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";

export interface EmbeddingServer {
  /** `http://127.0.0.1:PORT` */
  url: string;
  /** What was asked since the last call. */
  takeStats(): Promise<ServerStats>;
  close(): Promise<void>;
}

export interface ServerStats {
  requests: number;
  texts: number;
  maxInFlight: number;
}

/** Starts the embedding server of the benchmark as a process of its own. */
export async function startEmbeddingServer(): Promise<EmbeddingServer> {
  const child = fork(new URL("./embedding-server.ts", import.meta.url));
  return {
    url: await answerOf<string>(child),
    takeStats: () => {
      child.send("reset");
      return answerOf<ServerStats>(child);
    },
    async close() {
      child.disconnect();
      await once(child, "exit");
    },
  };
}

async function answerOf<T>(child: ChildProcess): Promise<T> {
  const over = new AbortController();
  const gone = once(child, "exit", { signal: over.signal }).then(() => {
    throw new Error("the embedding server ended");
  });
  try {
    const [message] = (await Promise.race([once(child, "message", { signal: over.signal }), gone])) as [T];
    return message;
  } finally {
    gone.catch(() => {});
    over.abort();
  }
}
