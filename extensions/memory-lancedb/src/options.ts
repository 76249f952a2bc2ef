import { MemoryError } from "@memslot/core";
import schema from "./data/config-schema.json" with { type: "json" };

/** Where the index lies: `plugins.entries.memory-lancedb.config`. */
export interface LanceOptions {
  /** A folder (absolute, or beginning with `~/`), `s3://`, `gs://`, `az://` or `db://`. Absent: a folder below the state folder. */
  dbPath?: string | undefined;
  /** Settings of the bucket, in the words of LanceDB. */
  storageOptions?: Readonly<Record<string, string>> | undefined;
  /** Of LanceDB Cloud, with `region` and `hostOverride`. */
  apiKey?: string | undefined;
  region?: string | undefined;
  hostOverride?: string | undefined;
}

/** The same as in `memslot.plugin.json`. */
export const configSchema: Readonly<Record<string, unknown>> = schema;

/** A `CONFIG` error about one option of this plugin. `what` follows its name. Values are left out: they may be secrets. */
export function configError(key: string, what: string): MemoryError {
  return new MemoryError("CONFIG", `plugins.entries.memory-lancedb.config.${key} ${what}`);
}
