export interface ObjectStorageOptions {
  /**
   * `ignored`: a write takes place whatever its `If-None-Match` and `If-Match` say, as with some storages. `unsupported`:
   * such a write is answered with 501, as with others. `kept` if left out.
   */
  conditionalWrites?: "kept" | "ignored" | "unsupported" | undefined;
  /** Milliseconds that pass before each answer. */
  latencyMs?: number | undefined;
  /** Requests signed with another one are answered with 403. If left out, nobody is refused. */
  accessKeyId?: string | undefined;
  /** The buckets that there are. If left out, each one is there. */
  buckets?: readonly string[] | undefined;
  /** What objects may take in all; more is answered with an error. 256 MiB if left out. */
  maxBytes?: number | undefined;
}

/** A request as it came in, and how it was answered. */
export interface ObjectRequest {
  method: string;
  /** With the query, as it was sent. */
  path: string;
  /** `if-none-match` or `if-match` with its value, of a write that has one. */
  condition?: string | undefined;
  /** Absent for one that was not answered. */
  status?: number | undefined;
  /** Milliseconds since 1970. */
  at: number;
}

export interface ObjectStorageStats {
  requests: number;
  /** Requests by their method. */
  methods: Readonly<Record<string, number>>;
  /** Writes that asked for a condition. */
  conditionalWrites: number;
  /** Writes that were refused with 412. */
  refusedWrites: number;
  objects: number;
  /** Of all objects. */
  bytes: number;
  /** The most requests that were under way at one time. */
  maxInFlight: number;
}

export interface ObjectStorage {
  /** `http://127.0.0.1:PORT`. A bucket is the first part of the path. */
  readonly url: string;
  /** The last requests, oldest first; what is older than some thousand is forgotten. */
  readonly log: readonly ObjectRequest[];
  /** What LanceDB wants to know to use it, under `s3://any-bucket`. */
  storageOptions(): Record<string, string>;
  stats(): ObjectStorageStats;
  /** The keys of a bucket that begin so, in order. */
  keys(bucket: string, prefix: string): string[];
  /** From now on no request is answered: `refuse` breaks each connection, `hang` lets it wait. */
  down(how: "refuse" | "hang"): void;
  /** Answers again. What hangs is broken off. */
  up(): void;
  stop(): Promise<void>;
}
