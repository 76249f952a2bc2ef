// Deletes from each package's dist what was built from a source that is gone. The compiler leaves such files, and they
// would be published.
import { existsSync, readFileSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
for (const group of ["packages", "extensions", "apps"])
  for (const name of readdirSync(path.join(root, group))) {
    const dist = path.join(root, group, name, "dist");
    if (!existsSync(dist)) continue;
    // A thread that was joined in has its source in another package.
    const { imports = {} } = JSON.parse(readFileSync(path.join(root, group, name, "package.json"), "utf8"));
    const joined = Object.values(imports).filter((place) => typeof place === "string");
    for (const file of readdirSync(dist, { recursive: true, encoding: "utf8" })) {
      // What the page of the browser is built into has no source of the same name, and is emptied by its own build.
      if (file.startsWith(`page${path.sep}`)) continue;
      if (joined.includes(`./dist/${file}`)) continue;
      const source = path.join(root, group, name, "src", file.replace(/(\.d\.ts|\.js)$/, ".ts"));
      // Parts are of several sources; the program that writes them deletes the old ones.
      if (/(\.d\.ts|(?<!\.part)\.js)$/.test(file) && !existsSync(source)) rmSync(path.join(dist, file));
    }
  }
