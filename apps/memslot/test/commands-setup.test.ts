import { statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { assistant, claudeSession, codexSession, user } from "@memslot/fakes/clients";
import { leanInstall } from "./lean-install.ts";
import type { Finished, Sandbox } from "./run-memslot.ts";
import { transcript } from "./transcript.ts";

/** The settings that are not the default, with where they come from. */
async function keys({ run }: Sandbox, ...args: string[]): Promise<Finished> {
  const finished = await run(["config", "--json", ...args]);
  const { file, entries, notices } = JSON.parse(finished.stdout) as {
    file?: string;
    entries: { origin: string }[];
    notices: string[];
  };
  const stdout = JSON.stringify({ file, notices, entries: entries.filter(({ origin }) => origin !== "default") });
  return { ...finished, stdout };
}

transcript("setup/command-line");
transcript("setup/configuration", { steps: { keys } });
transcript("setup/doctor");
transcript("setup/trust", { steps: { keys } });
transcript("setup/init", {
  steps: {
    mode: (_, file = "") => ({ exitCode: 0, stdout: (statSync(file).mode & 0o777).toString(8), stderr: "" }),
  },
});
transcript("setup/layout");
transcript("setup/found-folder");
transcript("setup/cloned-folder");
transcript("setup/sources", {
  async prepare(sandbox) {
    const home = sandbox.env["HOME"] ?? "";
    await mkdir(path.join(sandbox.cwd, ".git"));
    claudeSession(home, sandbox.cwd, "one", [user("Which quagga?"), assistant("The quagga of this folder.")]);
    claudeSession(home, "/elsewhere", "two", [user("Which quagga?"), assistant("The quagga of elsewhere.")]);
    codexSession(home, sandbox.cwd, "three", [assistant("The quagga of Codex.")]);
  },
  // The transcripts name the folder of the sandbox.
  masks: [[/(?<="bytes": )[1-9]\d*|\d+(?:\.\d)? k?B(?= · ~)/gu, "SIZE"]],
});
transcript("plugins/list");
transcript("plugins/use");
transcript("plugins/lean", {
  steps: { lean: async ({ run }, ...args) => await run(args, { cli: await leanInstall() }) },
});
