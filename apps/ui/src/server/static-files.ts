import { readFileSync, readdirSync } from "node:fs";
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

/** The files of the built page by path. No other file is ever served. */
export function readPage(folder: string): ReadonlyMap<string, StaticFile> {
  try {
    const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
    const files = names.filter((name) => types[path.extname(name)] !== undefined);
    return new Map(
      files.map((name) => [
        `/${name.split(path.sep).join("/")}`,
        { body: new Uint8Array(readFileSync(path.join(folder, name))), type: types[path.extname(name)] ?? "" },
      ]),
    );
  } catch (error) {
    const next = "This checkout has not been built: run `pnpm build` in its top folder.";
    throw new MemoryError("UNAVAILABLE", `the page is not in ${folder}: ${messageOf(error)}. ${next}`, {
      cause: error,
    });
  }
}

/** Serves the files by name, and the page itself for the address of every view. */
export function servePage(app: Hono, files: ReadonlyMap<string, StaticFile>): void {
  app.get("*", (context) => {
    const { pathname } = new URL(context.req.url);
    const isAsset = pathname.startsWith("/assets/");
    const file = files.get(pathname) ?? (isAsset ? undefined : files.get("/index.html"));
    if (file === undefined) return context.notFound();
    // Names of assets change with their content.
    const cacheControl = isAsset ? "public, max-age=31536000, immutable" : "no-cache";
    return context.body(file.body, 200, { "content-type": file.type, "cache-control": cacheControl });
  });
}
