// Appends notes by the tool's own function, one after the other, and prints the word of each that is said to be written.
import { appendNote } from "@memslot/agent-kit";

const [workspaceDir = "", name = "", count = "0"] = process.argv.slice(2);
for (let number = 0; number < Number(count); number++) {
  const word = `${name}n${number}`;
  const text = `The ferret ${word} sleeps. ${"It sleeps long. ".repeat(number % 5)}And that is the end of ${word}.`;
  await appendNote({ workspaceDir, text, kind: "daily", at: new Date(2026, 0, 5, 12), timeZone: "UTC" });
  process.stdout.write(`${word}\n`);
}
