import { MemoryError } from "@memslot/core";

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
export const configSchema: Readonly<Record<string, unknown>> = {
  type: "object",
  properties: {
    dbPath: {
      type: "string",
      description:
        "where the index lies: an absolute folder, or an address that begins with s3://, gs://, az:// or db://; a folder below the state folder where nothing is written",
    },
    storageOptions: {
      type: "object",
      additionalProperties: { type: "string" },
      description: "settings of the bucket, by the names that LanceDB has for them",
    },
    apiKey: { type: "string", description: "the key of a LanceDB Cloud project" },
    region: { type: "string", description: "the region of a LanceDB Cloud project" },
    hostOverride: { type: "string", description: "another address for LanceDB Cloud" },
  },
  additionalProperties: false,
};

/** The options as they were given. They have been checked against `configSchema`. */
export function readOptions(options: Readonly<Record<string, unknown>>): LanceOptions {
  return { ...options };
}

/** A `CONFIG` error about one option of this plugin. `what` follows its name. Values are left out: they may be secrets. */
export function configError(key: string, what: string): MemoryError {
  return new MemoryError("CONFIG", `plugins.entries.memory-lancedb.config.${key} ${what}`);
}
