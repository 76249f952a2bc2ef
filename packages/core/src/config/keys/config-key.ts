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
  | "globs"
  | "paths"
  | "map"
  | "extraPaths"
  | "object"
  | "same";

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
  /** Of type `choice` all that there are; of type `boolean` what it may be besides. */
  readonly choices?: readonly string[];
  /** Never printed. */
  readonly secret?: true;
  /**
   * A file that nobody has trusted may set it. Only for what decides how a search answers: nothing that widens what is
   * read, says where state lies, who the owner is or which agents there are, or that sends, pays or switches something
   * off. Every other key is set aside until the file is trusted.
   */
  readonly harmless?: true;
  /** A path that may also be an address such as `hf:user/model`. */
  readonly address?: true;
  /** The key whose sub-keys stand here too, for type `same`. */
  readonly same?: string;
  /** `memslot init` writes it, as a comment with its default. */
  readonly common?: true;
}
