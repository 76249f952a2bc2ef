import { withFile } from "../files/file-kind.ts";

const maxBytes = 4 * 1024 * 1024;

/** The text of a small file that a program keeps beside its conversations; empty for whatever is none. Waits for nobody. */
export async function readSmall(file: string): Promise<string> {
  try {
    return await withFile(file, async (handle) => {
      const stats = await handle.stat();
      return stats.isFile() && stats.size <= maxBytes ? await handle.readFile("utf8") : "";
    });
  } catch {
    return "";
  }
}
