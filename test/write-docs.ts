import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { withConfigTable } from "./support/config-table.ts";

const file = path.join(import.meta.dirname, "../docs/configuration.md");
writeFileSync(file, withConfigTable(readFileSync(file, "utf8")));
