import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { replaceFile } from "@memslot/core/files";
import { redactSecrets } from "./redact-secrets.ts";
import { redactionVersion } from "./version.ts";

/**
 * Takes out of the JSONL files of a folder, which are copies of what was said, what earlier rules let through. Lines keep
 * their numbers. A file beside the folder holds the version of the rules that its files are known to meet.
 */
export async function redactCopies(folder: string): Promise<void> {
  const mark = `${folder}.rules`;
  if ((await readFile(mark, "utf8").catch(() => "")) === String(redactionVersion)) return;
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile());
  for (const { parentPath, name } of files) {
    const file = path.join(parentPath, name);
    const text = await readFile(file, "utf8");
    const clean = text.split("\n").map(redactLine).join("\n");
    if (clean !== text) await replaceFile(file, clean);
  }
  if (files.length > 0) await writeFile(mark, String(redactionVersion), { mode: 0o600 });
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
