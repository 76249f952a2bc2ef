import path from "node:path";
import type { MemoryPluginContext } from "@memslot/core";
import { type IndexedSource, memoryRoots, type ScanResult, sourcesOf, toSlashes } from "@memslot/indexing/engine";
import type { QmdOptions } from "./options.ts";

const dayMs = 86_400_000;
const switchedOff = "memory.qmd.includeDefaultMemory is false";

/** The memory files of every backend, without those that `memory.qmd` excludes. */
export function qmdSources(context: MemoryPluginContext, options: QmdOptions): IndexedSource[] {
  return sourcesOf(context).map((source) => {
    if (source.source === "memory" && !options.includeDefaultMemory)
      return { ...source, scan: async (...given) => withoutOwn(await source.scan(...given), context) };
    const { retentionDays } = options.sessions;
    if (source.source === "sessions" && retentionDays !== undefined)
      return { ...source, scan: async (...given) => withoutOld(await source.scan(...given), retentionDays) };
    return source;
  });
}

function withoutOwn(scan: ScanResult, context: MemoryPluginContext): ScanResult {
  const roots = memoryRoots(context);
  const extra = roots.filter((root) => root.extra);
  const own = new Set(roots.filter((root) => !root.extra).map(({ label }) => label));
  return {
    ...scan,
    files: scan.files.filter(({ absolutePath }) =>
      extra.some((root) => {
        const inside = path.relative(root.absolutePath, absolutePath);
        return (
          inside === "" || (!inside.startsWith("..") && !path.isAbsolute(inside) && root.matches(toSlashes(inside)))
        );
      }),
    ),
    roots: scan.roots.map((root) =>
      own.has(root.path) && root.state === "indexed"
        ? { path: root.path, state: "skipped", reason: switchedOff }
        : root,
    ),
  };
}

function withoutOld(scan: ScanResult, days: number): ScanResult {
  const oldest = Date.now() - days * dayMs;
  return { ...scan, files: scan.files.filter(({ mtimeMs }) => mtimeMs >= oldest) };
}
