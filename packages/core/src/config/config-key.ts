type KeyType =
  | "string"
  | "path"
  | "url"
  | "boolean"
  | "timeZone"
  | "integer"
  | "number"
  | "choice"
  | "strings"
  | "paths"
  | "map"
  | "extraPaths"
  | "object"
  | "same";

/** What a value of this key could do in the hands of a stranger: the reason it is set aside until the file is trusted. */
type GuardReason = "code" | "command" | "host" | "header" | "credential" | "path";

/** One key of the configuration. Everything that is known about a key stands here and nowhere else. */
export interface ConfigKey {
  /** Dotted; `*` stands for any name and `[]` for the items of a list. */
  readonly key: string;
  readonly type: KeyType;
  /** Undefined where there is none. `{stateDir}` and `{agentId}` are replaced when it is used. */
  readonly default: unknown;
  /** One line in plain words. */
  readonly doc: string;
  readonly range?: readonly [minimum: number, maximum: number];
  readonly choices?: readonly string[];
  /** Never printed. */
  readonly secret?: true;
  readonly guarded?: GuardReason;
  /** Values of a guarded key that do no harm: the word `none`, or an id that cannot name a file or a scoped package. */
  readonly harmless?: "none" | "plain id";
  /** A path that may also be an address such as `hf:user/model`. */
  readonly address?: true;
  /** The key whose sub-keys stand here too, for type `same`. */
  readonly same?: string;
  /** `memslot init` writes it, as a comment with its default. */
  readonly common?: true;
}
