import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { replaceFileSync } from "@memslot/core/files";
import { parse, stringify } from "yaml";
import { QmdFailure } from "../failures.ts";
import type { QmdClient, QmdIndexStatus } from "../process/qmd-client.ts";
import { hasIndex, indexFile } from "../state-folder.ts";
import { type Collection, collectionsWith, everyNote } from "./collections.ts";
import type { QmdFile, QmdRecord } from "./indexed-files.ts";
import type { SessionExport } from "./session-export.ts";

export interface IndexInput {
  folder: string;
  workspaceDir: string;
  record: QmdRecord;
  sessions: SessionExport;
  client: QmdClient;
  collections: () => Collection[];
}

/** The index of qmd and the notes: which notes it lacks, and updates of it. */
export class QmdIndex {
  readonly #input: IndexInput;
  status: QmdIndexStatus | undefined;
  collections: readonly Collection[];
  #unseen: { of: readonly QmdFile[]; collections: readonly Collection[]; files: readonly QmdFile[] } | undefined;
  #rebuild: "no" | "lost" | "damaged" = "no";

  constructor(input: IndexInput) {
    this.#input = input;
    this.collections = input.collections();
  }

  unseen(): readonly QmdFile[] {
    const { files: of } = this.#input.record;
    if (this.#unseen?.of !== of || this.#unseen.collections !== this.collections) {
      const files = of.filter(
        (file) => file.seen !== file.hash || (file.source === "memory" && this.#isExcluded(file.path)),
      );
      this.#unseen = { of, collections: this.collections, files };
    }
    return this.#unseen.files;
  }

  #collectionsWith(shown: string): readonly Collection[] {
    return collectionsWith(this.collections, path.resolve(this.#input.workspaceDir, shown));
  }

  /** True for a note that qmd never indexes, and for one in a folder in which qmd found nothing. */
  #isExcluded(shown: string): boolean {
    const { empty } = this.#input.record.state;
    return this.#collectionsWith(shown).every(({ name }) => empty.includes(name));
  }

  /** These collections without those in which qmd found nothing: it reports them as unknown. */
  withDocuments(collections: readonly Collection[]): Collection[] {
    const { empty } = this.#input.record.state;
    return collections.filter(({ name }) => !empty.includes(name));
  }

  #emptyIn(status: QmdIndexStatus | undefined): string[] {
    if (status === undefined) return [];
    const filled = new Set(status.collections.filter(({ documents }) => documents > 0).map(({ name }) => name));
    return this.collections.flatMap(({ name }) => (filled.has(name) ? [] : [name]));
  }

  /** Whether qmd has no documents of a folder that these notes are in. A pattern may match nothing, so it does not count. */
  isEmptied(status: QmdIndexStatus | undefined, files: readonly QmdFile[]): boolean {
    const empty = new Set(this.#emptyIn(status));
    return files
      .filter(({ source, chunks }) => source === "memory" && chunks > 0)
      .flatMap((file) => this.#collectionsWith(file.path).slice(0, 1))
      .some(({ name, pattern }) => pattern === everyNote && empty.has(name));
  }

  async readStatus(signal: AbortSignal): Promise<QmdIndexStatus> {
    this.status = await this.#input.client.status(signal);
    return this.status;
  }

  /** Undefined if qmd cannot report it: an update whose result is not counted was made all the same. */
  async #tryStatus(signal: AbortSignal): Promise<QmdIndexStatus | undefined> {
    try {
      return await this.readStatus(signal);
    } catch (error) {
      if (!(error instanceof QmdFailure) || signal.aborted) throw error;
      return undefined;
    }
  }

  async lost(isDamaged: boolean): Promise<void> {
    if (this.#rebuild !== "damaged") this.#rebuild = isDamaged ? "damaged" : "lost";
    await this.#input.record.forgetSeen();
  }

  readCollections({ write }: { write: boolean }): void {
    this.collections = this.#input.collections();
    if (write) writeIndexYaml(this.#input.folder, this.collections, true);
  }

  /** Does nothing if nothing has changed. `force`: rebuilds the index. */
  async update(force: boolean, signal: AbortSignal): Promise<void> {
    const { folder, record, client, sessions } = this.#input;
    await record.refresh();
    await sessions.update(record.files);
    this.collections = this.#input.collections();
    const isNew = writeIndexYaml(folder, this.collections, false);
    const mustRebuild = force || this.#rebuild !== "no" || client.isTorn();
    const hasRemoved = record.removed().length > 0;
    const isBehind = !hasIndex(folder) || hasRemoved || record.files.some(({ seen, hash }) => seen !== hash);
    if (!mustRebuild && !isNew && !isBehind) return;
    const started = performance.now();
    if (mustRebuild) await this.empty(this.#rebuild === "damaged", signal);
    const before = record.files;
    await this.#updateOnce(signal);
    if (hasRemoved) await client.cleanup(signal);
    if (isNew) await client.restart();
    const status = await this.#checkFilled(signal);
    this.#rebuild = "no";
    const updateMs = Math.round(performance.now() - started);
    await record.markSeen(before, { updatedAt: new Date().toISOString(), updateMs, empty: this.#emptyIn(status) });
  }

  /** The status after an update. An index that is empty though there are notes is rebuilt once. */
  async #checkFilled(signal: AbortSignal): Promise<QmdIndexStatus | undefined> {
    const { folder, record, client } = this.#input;
    const { files } = record;
    const first = await this.#tryStatus(signal);
    if (!this.isEmptied(first, files)) return first;
    await this.empty(false, signal);
    await client.update({ files: files.length, signal });
    const second = await this.#tryStatus(signal);
    if (!this.isEmptied(second, files)) return second;
    const action = `run \`QMD_CONFIG_DIR=${folder} INDEX_PATH=${path.join(folder, indexFile)} qmd status\``;
    throw new QmdFailure("qmd_error", `qmd has indexed none of ${files.length} notes`, { action });
  }

  async #updateOnce(signal: AbortSignal): Promise<void> {
    const { folder, record, client } = this.#input;
    const run = (): Promise<void> => client.update({ files: record.files.length, signal });
    try {
      await run();
    } catch (error) {
      const reason = error instanceof QmdFailure ? error.reason : undefined;
      if (reason === "index_damaged") await this.empty(true, signal);
      else if (reason === "unknown_collection" || reason === "config_broken")
        writeIndexYaml(folder, this.collections, true);
      else throw error;
      await run();
    }
    // Another process was killed while this one waited for its turn.
    if (!client.isTorn()) return;
    await this.empty(false, signal);
    await run();
  }

  /** Empties the index for the next update. Sets a damaged one aside; keeps embeddings, which belong to texts. */
  async empty(isDamaged: boolean, signal: AbortSignal): Promise<void> {
    const { folder, client, record } = this.#input;
    if (this.status === undefined && !isDamaged && hasIndex(folder)) await this.#tryStatus(signal);
    await record.forgetSeen();
    if (this.status?.hasVectorIndex === true && !isDamaged) {
      const emptied = this.collections.map(({ name, root }) => ({ name, root, pattern: emptyPattern, ignore: [] }));
      writeIndexYaml(folder, emptied, true);
      await client.update({ files: record.files.length, signal });
    } else {
      const files = ["", "-wal", "-shm"].map((ending) => path.join(folder, `${indexFile}${ending}`));
      await client.exclusively(() => {
        for (const file of files) {
          if (isDamaged && existsSync(file)) renameSync(file, `${file}.damaged`);
          else rmSync(file, { force: true });
        }
      }, signal);
    }
    writeIndexYaml(folder, this.collections, true);
    client.clearTorn();
  }
}

/** The models of qmd 2.8.3. qmd would write missing ones into the file. */
export const models = {
  embed: "hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf",
  rerank: "hf:ggml-org/Qwen3-Reranker-0.6B-Q8_0-GGUF/qwen3-reranker-0.6b-q8_0.gguf",
  generate: "hf:tobil/qmd-query-expansion-1.7B-gguf/qmd-query-expansion-1.7B-q4_k_m.gguf",
} as const;

const emptyPattern = ".nothing/none.md";

/** Writes `index.yml` if it differs or `force`. Its number increases because qmd ignores an unchanged file. */
function writeIndexYaml(
  folder: string,
  collections: readonly Pick<Collection, "name" | "root" | "pattern" | "ignore">[],
  force: boolean,
): boolean {
  const file = path.join(folder, "index.yml");
  const wanted = Object.fromEntries(
    collections.map(({ name, root, pattern, ignore }) => [
      name,
      { path: root, pattern, ...(ignore.length > 0 && { ignore: [...ignore] }) },
    ]),
  );
  const written = readYaml(file);
  const isSame = JSON.stringify([written?.["collections"], written?.["models"]]) === JSON.stringify([wanted, models]);
  if (isSame && !force) return false;
  const before = Number(written?.["adapter_rev"]);
  // By the clock if the file was unreadable: qmd would not notice a number that was used before.
  const revision = Number.isSafeInteger(before) ? before + 1 : Date.now();
  replaceFileSync(file, stringify({ collections: wanted, models, adapter_rev: revision }));
  return true;
}

function readYaml(file: string): Record<string, unknown> | undefined {
  try {
    const written: unknown = parse(readFileSync(file, "utf8"));
    return typeof written === "object" && written !== null ? (written as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
