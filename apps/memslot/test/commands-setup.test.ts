import { readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { crc32 } from "node:zlib";
import { assistant, claudeSession, codexSession, user } from "@memslot/fakes/clients";
import { leanInstall } from "./npm.ts";
import type { Finished, Sandbox } from "./run-memslot.ts";
import { transcript } from "./transcript.ts";

/** The settings that are not the default, with where they come from. */
async function keys({ run, env }: Sandbox, ...args: string[]): Promise<Finished> {
  const finished = await run(["config", "--json", ...args], { env });
  const { file, entries, notices } = JSON.parse(finished.stdout) as {
    file?: string;
    entries: { origin: string }[];
    notices: string[];
  };
  const set = entries.filter(({ origin }) => origin !== "default");
  const stdout = JSON.stringify({ file, notices, set }, undefined, 2);
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
transcript("setup/openclaw", { steps: { keys } });

const notesOf = ({ workspace }: Sandbox, source = ""): string[] => {
  const folder = path.join(workspace, "memory/imports", source);
  return readdirSync(folder)
    .toSorted()
    .map((name) => path.join(folder, name));
};
transcript("setup/import", {
  steps: {
    notes: (sandbox, source) => {
      const texts = notesOf(sandbox, source).map((file) => readFileSync(file, "utf8"));
      return { exitCode: 0, stdout: texts.toSorted().join("\n"), stderr: "" };
    },
    change: (sandbox, source) => writeFileSync(notesOf(sandbox, source)[0] ?? "", "mine\n"),
    delete: (sandbox, source) => rmSync(notesOf(sandbox, source)[0] ?? ""),
    zip: (_, file = "", name = "", content = "") => writeFileSync(file, zipOf(name, readFileSync(content, "utf8"))),
    cut: (_, file = "", whole = "") => writeFileSync(file, readFileSync(whole).subarray(0, 100)),
  },
});

/** A zip of one file, not compressed. */
function zipOf(name: string, text: string): Buffer {
  const [title, body] = [Buffer.from(name), Buffer.from(text)];
  const facts = Buffer.alloc(26);
  facts.writeUInt16LE(20, 0);
  facts.writeUInt32LE(crc32(body), 10);
  facts.writeUInt32LE(body.length, 14);
  facts.writeUInt32LE(body.length, 18);
  facts.writeUInt16LE(title.length, 22);
  const local = Buffer.concat([Buffer.from("PK\u0003\u0004"), facts, title, body]);
  const central = Buffer.concat([Buffer.from("PK\u0001\u0002"), Buffer.from([20, 0]), facts, Buffer.alloc(14), title]);
  const end = Buffer.alloc(22);
  end.write("PK\u0005\u0006", "latin1");
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, central, end]);
}
