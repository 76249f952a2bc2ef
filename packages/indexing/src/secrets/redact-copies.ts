import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { replaceFile } from "@memslot/core/files";
import { redactSecrets } from "./redact-secrets.ts";
import { redactionVersion } from "./version.ts";

/** Redacts JSONL copies made by older rules. `mark` stores the rule version. False: a copy remains. */
export async function redactCopies(folder: string, mark: string): Promise<boolean> {
  if ((await readFile(mark, "utf8").catch(() => "")) === String(redactionVersion)) return true;
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => path.join(parentPath, name));
  try {
    for (const file of files) {
      const text = await readFile(file, "utf8");
      const clean = text.split("\n").map(redactLine).join("\n");
      if (clean !== text) await replaceFile(file, clean);
    }
    if (files.length > 0) await writeFile(mark, String(redactionVersion), { mode: 0o600 });
    return true;
  } catch {
    return false;
  }
}

function redactLine(line: string): string {
  try {
    const record: unknown = JSON.parse(line);
    const clean = JSON.stringify(record, (_, value: unknown) =>
      typeof value === "string" ? redactSecrets(value) : value,
    );
    return clean === JSON.stringify(record) ? line : clean;
  } catch {
    return line;
  }
}
