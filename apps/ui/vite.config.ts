import path from "node:path";
import { defineConfig, type UserConfig } from "vite";

/** The page as it is served: files of its own for scripts, styles and workers, nothing inline, as its policy asks for. */
const config: UserConfig = defineConfig({
  root: path.join(import.meta.dirname, "page"),
  publicDir: false,
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  worker: { format: "es" },
  build: {
    outDir: "../dist/page",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    // The server names the files of the first view ahead.
    manifest: "manifest.json",
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        // What two views use is one file: a browser requests six at a time.
        codeSplitting: { groups: [{ name: "shared", minShareCount: 2, test: /[\\/]page[\\/]|preact|preload-helper/ }] },
      },
    },
  },
});

export default config;
