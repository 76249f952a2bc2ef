import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { MemoryError, messageOf } from "@memslot/core";
import { type Answerer, compressed, RouteError, sendBody } from "./answer-request.ts";

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** By the source of a chunk, as Vite lists them. */
type Chunks = Readonly<
  Record<string, { file: string; css?: readonly string[]; imports?: readonly string[] } | undefined>
>;

/** Answers with a file of the page, or with the page itself for the address of a view. No other file is ever served. */
export function readPage(folder: string): Answerer {
  const files = new Map<string, { whole: Buffer; small: Promise<Buffer>; type: string }>();
  let chunks: Chunks = {};
  try {
    for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      const type = types[path.extname(name)];
      if (type === undefined && name !== "manifest.json") continue;
      const whole = readFileSync(path.join(folder, name));
      if (type === undefined) chunks = JSON.parse(whole.toString("utf8")) as Chunks;
      // In other threads, before the first request.
      else files.set(`/${name.split(path.sep).join("/")}`, { whole, small: compressed(whole), type });
    }
  } catch (error) {
    const next = "This checkout has not been built: run `pnpm build` in its top folder.";
    throw new MemoryError("UNAVAILABLE", `the page is not in ${folder}: ${messageOf(error)}. ${next}`, {
      cause: error,
    });
  }
  return async (request, response, { pathname }) => {
    const isAsset = pathname.startsWith("/assets/");
    const file = files.get(pathname) ?? (isAsset ? undefined : files.get("/index.html"));
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (file === undefined || !isRead) throw new RouteError("NOT_FOUND", `nothing is served at ${pathname}`);
    const ahead = isAsset ? [] : filesAhead(chunks, pathname);
    if (ahead.length > 0) response.setHeader("link", ahead.join(", "));
    response.setHeader("content-type", file.type);
    // Names of assets change with their content.
    response.setHeader("cache-control", isAsset ? "public, max-age=31536000, immutable" : "no-cache");
    await sendBody(request, response, file.whole, file.small);
  };
}

/** The files of the view of an address, which the browser loads beside those of the shell. */
function filesAhead(chunks: Chunks, pathname: string): string[] {
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
