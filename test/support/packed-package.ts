import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { gunzipSync } from "node:zlib";

/** What stands in a packed package's package.json, as far as it is looked at here. */
interface PackedManifest {
  name: string;
  version: string;
  license?: string;
  type?: string;
  files?: string[];
  sideEffects?: boolean;
  bin?: Record<string, string>;
  exports?: Record<string, unknown>;
  imports?: Record<string, unknown>;
  engines?: { node?: string };
  publishConfig?: { access?: string };
  scripts?: Record<string, string>;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

export interface PackedPackage {
  readonly name: string;
  readonly manifest: PackedManifest;
  /** The tarball's path, its name alone and what it holds. */
  readonly tarball: string;
  readonly fileName: string;
  readonly bytes: Buffer;
  /** The text of each file by its path below the package. */
  readonly files: ReadonlyMap<string, string>;
}

export function readPackedPackage(tarball: string): PackedPackage {
  const bytes = readFileSync(tarball);
  const files = readTar(gunzipSync(bytes));
  const manifest = JSON.parse(files.get("package.json") ?? "{}") as PackedManifest;
  return { name: manifest.name, manifest, tarball, fileName: path.basename(tarball), bytes, files };
}

/** What a registry says of a package with this one version. */
export function packumentOf({ name, manifest, bytes }: PackedPackage, tarball: string): Record<string, unknown> {
  const { version } = manifest;
  const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
  const shasum = createHash("sha1").update(bytes).digest("hex");
  // Package managers hold back what was published in the last days.
  const published = "2026-01-01T00:00:00.000Z";
  return {
    _id: name,
    name,
    "dist-tags": { latest: version },
    time: { created: published, modified: published, [version]: published },
    versions: { [version]: { ...manifest, _id: `${name}@${version}`, dist: { integrity, shasum, tarball } } },
  };
}

/** The files of a tar archive (POSIX.1-1988 ustar, which is what package managers write for names this short). */
function readTar(archive: Buffer): Map<string, string> {
  const files = new Map<string, string>();
  const text = (start: number, length: number): string =>
    archive.toString("utf8", start, start + length).replace(/\0.*$/s, "");
  for (let at = 0; at + 512 <= archive.length && archive[at] !== 0;) {
    const size = Number.parseInt(text(at + 124, 12), 8);
    const name = [text(at + 345, 155), text(at, 100)].filter(Boolean).join("/");
    const regular = ["", "0"].includes(text(at + 156, 1));
    if (regular) files.set(name.replace(/^[^/]+\//, ""), archive.toString("utf8", at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}
