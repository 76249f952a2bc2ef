import type { Client, ClientId } from "../client.ts";
import { claudeCode } from "./claude-code.ts";
import { codex } from "./codex.ts";
import { cursor } from "./cursor.ts";
import { gemini } from "./gemini.ts";
import { opencode } from "./opencode.ts";
import { antigravity, claudeDesktop, windsurf, zed } from "./server-only.ts";
import { vscode } from "./vscode.ts";

export const allClients: readonly Client[] = [
  claudeCode,
  codex,
  gemini,
  opencode,
  cursor,
  vscode,
  claudeDesktop,
  zed,
  windsurf,
  antigravity,
];

export function clientOf(id: ClientId): Client {
  const client = allClients.find((each) => each.id === id);
  if (client === undefined) throw new Error(`there is no client ${id}`);
  return client;
}
