// Counts in a line of its own in a note, `count` times, as an agent does: reads, edits with the hash, and begins anew where
// somebody else was faster. Every third time it puts a scrap beside it and forgets that again. Prints each number once the
// edit is safe. What stops it is printed to stderr.
import { MemoryError } from "@memslot/core";
import { editNote, type EditedNote, forgetNote, readNote } from "@memslot/agent-kit";

const [workspaceDir = "", stateDir = "", relPath = "", name = "", count = "0"] = process.argv.slice(2);
const place = { workspaceDir, stateDir, relPath, settings: { extraPaths: [], notes: "auto" as const } };
const changer = { agentId: "main", session: `agent:main:${name}`, by: "test" };

async function change(old: RegExp, make: (line: string, given: object) => Promise<EditedNote>): Promise<string> {
  for (;;) {
    const note = await readNote(place);
    const line = note?.text.split("\n").find((each) => old.test(each));
    if (note === undefined || line === undefined) return "";
    try {
      await make(line, { hash: note.sha256 });
      return line;
    } catch (error) {
      const isLate = MemoryError.is(error, "INVALID_ARGUMENT") && error.message.includes("read it again");
      if (!isLate && !MemoryError.is(error, "BUSY")) throw error;
    }
  }
}

const given = (old: string, more: object) => ({
  ...place,
  changer,
  at: new Date(),
  timeZone: "UTC",
  old,
  hash: "",
  ...more,
});
for (let index = 0; index < Number(count); index++) {
  let next = 0;
  await change(new RegExp(`^- ${name} \\d+$`, "u"), (line, more) => {
    next = Number(line.split(" ").at(-1)) + 1;
    const scrap = next % 3 === 0 ? `\n- ${name} scrap ${next}` : "";
    return editNote({ ...given(line, more), text: `- ${name} ${next}${scrap}` });
  });
  process.stdout.write(`${next}\n`);
  await change(new RegExp(`^- ${name} scrap `, "u"), (line, more) =>
    forgetNote({ ...given(line, more), reason: "A scrap." }),
  );
}
