// What a package is built and tested with is no part of what is published: a host that installs a package's own folder
// (OpenClaw does so with plugins) would look up all of it in the registry.
export const hooks = {
  beforePacking(manifest) {
    const { devDependencies: _, ...published } = manifest;
    return published;
  },
};
