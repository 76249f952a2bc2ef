#!/usr/bin/env node
// Starts the built command. Plain JavaScript with old syntax, so that an old Node gets a sentence and not a stack trace.
// Nothing of Node is imported: that makes a module with all its exports, which load others.
const NEEDED = [22, 22];

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const built = new URL("../dist/cli.js", import.meta.url);

if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1])) {
  process.stderr.write(
    `memslot: Node ${NEEDED.join(".")} or newer is needed, and this is ${process.versions.node} (${process.execPath}). ` +
      "Install a newer one from https://nodejs.org and run the command again.\n",
  );
  process.exitCode = 1;
} else if (!process.getBuiltinModule("node:fs").existsSync(built)) {
  process.stderr.write(
    `memslot: ${process.getBuiltinModule("node:url").fileURLToPath(built)} is not there: this checkout has not been built. Run \`pnpm build\` in its top folder first.\n`,
  );
  process.exitCode = 1;
} else {
  const [{ expectShortRun }, { useCompileCache }] = await Promise.all([
    import("./short-run.js"),
    import("./compile-cache.js"),
  ]);
  expectShortRun(process.argv.slice(2));
  useCompileCache();
  await import(built.href);
}
