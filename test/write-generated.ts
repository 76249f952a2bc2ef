import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { withOfferedPeers } from "./support/command-peers.ts";
import { withConfigTable } from "./support/config-table.ts";

const root = path.join(import.meta.dirname, "..");
for (const [name, made] of [
  ["docs/configuration.md", withConfigTable],
  ["apps/memslot/package.json", withOfferedPeers],
] as const) {
  const file = path.join(root, name);
  writeFileSync(file, made(readFileSync(file, "utf8")));
}
