import { existsSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { MemoryError, messageOf } from "@memslot/core";
import type { Hono } from "hono";

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

interface StaticFile {
  body: Uint8Array<ArrayBuffer>;
  type: string;
}

interface BuiltPage {
  /** By path. No other file is ever served. */
  files: ReadonlyMap<string, StaticFile>;
  /** By the source of a chunk, as Vite lists them. */
  chunks: Readonly<Record<string, Chunk | undefined>>;
}

interface Chunk {
  file: string;
  css?: readonly string[];
  imports?: readonly string[];
}

export function readPage(folder: string): BuiltPage {
  try {
    const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
    const files = names.filter((name) => types[path.extname(name)] !== undefined);
    const built = files.map((name): [string, StaticFile] => [
      `/${name.split(path.sep).join("/")}`,
      { body: new Uint8Array(readFileSync(path.join(folder, name))), type: types[path.extname(name)] ?? "" },
    ]);
    const manifest = path.join(folder, "manifest.json");
    const chunks = existsSync(manifest) ? (JSON.parse(readFileSync(manifest, "utf8")) as BuiltPage["chunks"]) : {};
    return { files: new Map(built), chunks };
  } catch (error) {
    const next = "This checkout has not been built: run `pnpm build` in its top folder.";
    throw new MemoryError("UNAVAILABLE", `the page is not in ${folder}: ${messageOf(error)}. ${next}`, {
      cause: error,
    });
  }
}

/** Serves the files by name, and the page itself for the address of every view. */
export function servePage(app: Hono, { files, chunks }: BuiltPage): void {
  app.get("*", (context) => {
    const { pathname } = new URL(context.req.url);
    const isAsset = pathname.startsWith("/assets/");
    const file = files.get(pathname) ?? (isAsset ? undefined : files.get("/index.html"));
    if (file === undefined) return context.notFound();
    // Names of assets change with their content.
    const cacheControl = isAsset ? "public, max-age=31536000, immutable" : "no-cache";
    if (!isAsset) context.header("link", filesAhead(chunks, pathname).join(", ") || undefined);
    return context.body(file.body, 200, { "content-type": file.type, "cache-control": cacheControl });
  });
}

/** The files of the view of an address, which the browser loads beside those of the shell. */
function filesAhead(chunks: BuiltPage["chunks"], pathname: string): string[] {
  const name = pathname.split("/")[1] || "home";
  const wanted = [`views/${name}/${name}-view.tsx`];
  const shell = new Set(["index.html", ...(chunks["index.html"]?.imports ?? [])]);
  const links: string[] = [];
  for (const key of wanted) {
    const chunk = shell.has(key) ? undefined : chunks[key];
    if (chunk === undefined) continue;
    links.push(`</${chunk.file}>; rel=modulepreload`);
    for (const style of chunk.css ?? []) links.push(`</${style}>; rel=preload; as=style; crossorigin`);
    wanted.push(...(chunk.imports ?? []).filter((each) => !wanted.includes(each)));
  }
  return links;
}
