#!/usr/bin/env node
// Starts the built command. Plain JavaScript with old syntax, so that an old Node gets a sentence and not a stack trace.
import { expectShortRun, privateStateDir, useCompileCache } from "./start.js";

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
} else if (!(await isAnsweredByServer())) {
  expectShortRun(process.argv.slice(2));
  useCompileCache();
  await import(built.href);
}

/** Whether a running server answered, for a hook: without loading the command. */
async function isAnsweredByServer() {
  if (process.argv[2] !== "hook") return false;
  try {
    const hook = await import("../dist/warm-hook.js");
    return await hook.isAnsweredByServer(privateStateDir);
  } catch {
    return false;
  }
}
