import { extensions } from "./pack-all.ts";

interface Manifest {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
  peerDependenciesMeta: Record<string, { optional: boolean }>;
}

/**
 * The manifest of the command with the plugins that it offers to work with made anew: optional peers are all extensions
 * of this repository but those that come with it. For its tests they are there.
 */
export function withOfferedPeers(text: string): string {
  const manifest = JSON.parse(text) as Manifest;
  const offered = extensions.map(({ name }) => name).filter((name) => !(name in manifest.dependencies));
  const others = Object.entries(manifest.devDependencies).filter(
    ([name]) => !/^@memslot\/(?:memory|embeddings|rerank)-/.test(name),
  );
  const here = offered.map((name) => [name, "workspace:*"] as const);
  manifest.devDependencies = Object.fromEntries([...others, ...here].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  manifest.peerDependencies = Object.fromEntries(offered.map((name) => [name, "workspace:^"]));
  manifest.peerDependenciesMeta = Object.fromEntries(offered.map((name) => [name, { optional: true }]));
  return `${JSON.stringify(manifest, undefined, 2)}\n`;
}
