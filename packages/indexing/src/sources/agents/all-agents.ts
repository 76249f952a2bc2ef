import type { ClientSource } from "@memslot/core";
import { claudeCode } from "./claude-code.ts";
import type { Client } from "./agent-finding.ts";
import { codex } from "./codex.ts";
import { cursor } from "./cursor.ts";
import { gemini } from "./gemini.ts";
import { opencode } from "./opencode.ts";

export const clients: Readonly<Record<ClientSource, Client>> = {
  "claude-code": claudeCode,
  codex,
  gemini,
  opencode,
  cursor,
};
