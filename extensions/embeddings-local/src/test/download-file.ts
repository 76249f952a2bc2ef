import { download } from "../download/download.ts";

/** Downloads its first argument to its second one, and says when it is done. */
const [url = "", path = ""] = process.argv.slice(2);
await download({
  url,
  path,
  fileName: "model.gguf",
  signal: new AbortController().signal,
  progress: () => {},
});
process.stdout.write("done\n");
