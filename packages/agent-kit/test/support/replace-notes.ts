// Puts a line of its own at the top of a note, `count` times, as an editor does: reads, changes, saves, and begins anew
// where somebody else was faster. Prints each line once it is safe, and in the end how often it had to begin anew.
import { readNote, replaceNote } from "@memslot/agent-kit";

const [workspaceDir = "", stateDir = "", relPath = "", name = "", count = "0", size = "0"] = process.argv.slice(2);
const place = { workspaceDir, stateDir, relPath, settings: { extraPaths: [], notes: "auto" as const } };
let conflicts = 0;
for (let index = 0; index < Number(count); index++) {
  const line = `${name} ${index}${"x".repeat(Number(size))}`;
  for (;;) {
    const note = await readNote(place);
    if (note === undefined) throw new Error("the note is gone");
    const { state } = await replaceNote({ ...place, text: `${line}\n${note.text}`, sha256: note.sha256 });
    if (state === "replaced") break;
    conflicts++;
  }
  process.stdout.write(`${line}\n`);
}
process.stderr.write(`${conflicts}\n`);
