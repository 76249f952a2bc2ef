/** Programs whose conversations and notes can be sources of a memory: read where these programs keep them. */
export const clientSources = ["claude-code", "codex", "gemini", "opencode", "cursor"] as const;

export type ClientSource = (typeof clientSources)[number];

/** Where each of them keeps what it remembers; absent: there is no such place on this system. */
export type ClientFolders = Readonly<Partial<Record<ClientSource, readonly string[]>>>;

export function isClientSource(source: string): source is ClientSource {
  return (clientSources as readonly string[]).includes(source);
}

/** The program that a path is of, `codex:/rollout-….jsonl`; undefined for every other path. */
export function clientOfPath(path: string): ClientSource | undefined {
  const name = /^(?:\.\/)?([a-z-]+):/u.exec(path)?.[1] ?? "";
  return isClientSource(name) ? name : undefined;
}

/** Whether what is found there was said in a conversation: its text is not made of the lines of a file. */
export function isConversation({ source, path }: { source: string; path: string }): boolean {
  if (source === "sessions" || source === "journal") return true;
  return isClientSource(source) && !path.toLowerCase().endsWith(".md");
}
