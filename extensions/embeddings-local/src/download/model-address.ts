import { createHash } from "node:crypto";
import { basename, dirname, isAbsolute, join } from "node:path";
import { MemoryError } from "@memslot/core";

export const defaultModel = "hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf";
const defaultEndpoint = "https://huggingface.co";

/** Location of a model, downloaded or not. */
export interface ModelAddress {
  /** Identifies the model wherever the file is: its address or file name. */
  model: string;
  path: string;
  fileName: string;
  /** Undefined for a file that the user has put there. */
  source: ModelSource | undefined;
}

interface ModelSource {
  url: string;
  /** From a model hub, which accepts `HF_TOKEN` and reports checksums. */
  isHub: boolean;
}

export interface AddressPlaces {
  cacheDir: string;
  hubEndpoint: string | undefined;
}

/** Reads an absolute path, `hf:user/repository/folder/file.gguf#branch` or an `https:` address. Throws `CONFIG`. */
export function parseModelAddress(written: string, places: AddressPlaces): ModelAddress {
  if (written.startsWith("hf:")) return hubAddress(written, places);
  if (/^https?:/i.test(written)) return webAddress(written, places);
  if (!isAbsolute(written)) throw unusable(written, "it is neither the absolute path of a file nor an address");
  return { model: basename(written), path: written, fileName: basename(written), source: undefined };
}

/** Possible paths of a model known only by file name: beside the configured one, and in the cache. */
export function placesOfFile(fileName: string, configured: string | undefined, cacheDir: string): string[] {
  const folders = configured !== undefined && isAbsolute(configured) ? [dirname(configured), cacheDir] : [cacheDir];
  return folders.map((folder) => join(folder, fileName));
}

function hubAddress(written: string, { cacheDir, hubEndpoint }: AddressPlaces): ModelAddress {
  const [place = "", branch = "main", ...more] = written.slice("hf:".length).split("#");
  const parts = place.split("/");
  const [user = "", repository = "", ...file] = parts;
  const fileName = file.at(-1) ?? "";
  if (more.length > 0 || !/\.gguf$/i.test(fileName) || ![...parts, ...branch.split("/")].every(isPlainName))
    throw unusable(written, "it has to have the form hf:user/repository/file.gguf");
  const url = [endpointOf(hubEndpoint), user, repository, "resolve", encodeURIComponent(branch)];
  return {
    model: branch === "main" ? `hf:${place}` : written,
    path: join(cacheDir, "hf", user, branch === "main" ? repository : `${repository}#${branch}`, ...file),
    fileName,
    source: { url: [...url, ...file.map(encodeURIComponent)].join("/"), isHub: true },
  };
}

function webAddress(written: string, { cacheDir }: AddressPlaces): ModelAddress {
  const url = parseUrl(written);
  const fileName = decodeURIComponent(url?.pathname.split("/").at(-1) ?? "");
  if (url === undefined || !isPlainName(fileName)) throw unusable(written, "it does not name a file");
  if (url.username !== "" || url.password !== "") throw unusable(written, "it holds a password");
  // The query may be a signature: neither part of the name nor to be displayed.
  const model = `${url.origin}${url.pathname}`;
  const folder = createHash("sha256").update(model).digest("hex").slice(0, 12);
  return { model, path: join(cacheDir, "url", folder, fileName), fileName, source: { url: url.href, isHub: false } };
}

function endpointOf(written: string | undefined): string {
  const endpoint = parseUrl(written ?? defaultEndpoint);
  if (endpoint === undefined) throw new MemoryError("CONFIG", "HF_ENDPOINT is no http or https address");
  return `${endpoint.origin}${endpoint.pathname.replace(/\/+$/, "")}`;
}

function parseUrl(text: string): URL | undefined {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) ? url : undefined;
}

function isPlainName(name: string): boolean {
  // eslint-disable-next-line no-control-regex -- these are what file names must not hold
  return name !== "" && name !== "." && name !== ".." && !/[\\/:*?"<>|\u0000-\u001f]/.test(name);
}

function unusable(written: string, why: string): MemoryError {
  const shown = written.replace(/\/\/[^/]*@/, "//…@").replace(/\?.*$/s, "?…");
  return new MemoryError(
    "CONFIG",
    `agents.defaults.memorySearch.local.modelPath is "${shown}": ${why}; it takes a GGUF file, hf:user/repository/file.gguf or an https address`,
  );
}
