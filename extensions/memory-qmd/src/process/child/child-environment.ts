import { join } from "node:path";
import { childEnvironment, networkVariables } from "@memslot/core/providers";
import type { QmdProcessOptions } from "../../qmd-contract.ts";

/** What a model may be fetched with. */
const passedToFetch = [...networkVariables, "HF_ENDPOINT", "HF_TOKEN"];

/** What is done: it decides how long qmd waits for its index and what of the network it sees. */
export type QmdWork = "query" | "update" | "embed";

const busyTimeoutMs: Record<QmdWork, number> = { query: 2000, update: 30_000, embed: 30_000 };

/** Of the environment of the host, what qmd needs for such work. */
export function pickEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  work: QmdWork,
): Record<string, string> {
  return childEnvironment(environment, work === "embed" ? passedToFetch : []);
}

/**
 * The whole environment of a child. `INDEX_PATH` and `QMD_CONFIG_DIR` keep it to its own folder. `CI` in lexical mode
 * makes it refuse a model at once instead of fetching one; in semantic mode there must be none. Nothing of the host that
 * begins with `QMD_` is passed on, nor `NODE_OPTIONS`: some of them let a folder's own settings run commands.
 */
export function qmdEnvironment(
  options: Pick<QmdProcessOptions, "environment" | "folder" | "mode">,
  work: QmdWork,
): Record<string, string> {
  const { environment, folder, mode } = options;
  return {
    ...pickEnvironment(environment, work),
    INDEX_PATH: join(folder, "index.sqlite"),
    QMD_CONFIG_DIR: folder,
    // It believes this more than its working directory.
    PWD: folder,
    NO_COLOR: "1",
    NODE_COMPILE_CACHE: join(folder, "cc"),
    LLAMA_LOG_LEVEL: "error",
    GGML_LOG_LEVEL: "error",
    GGML_BACKEND_SILENT: "1",
    QMD_SQLITE_BUSY_TIMEOUT: String(busyTimeoutMs[work]),
    ...(mode === "lexical" && work !== "embed" ? { CI: "1" } : {}),
  };
}
