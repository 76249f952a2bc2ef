// Appends numbered notes to the log of one day, each with a call of its own, and prints what came of each as JSON.
import { appendNote } from "@memslot/agent-kit";

const [workspaceDir = "", name = "", count = "1"] = process.argv.slice(2);
const places: unknown[] = [];
for (let index = 1; index <= Number(count); index++) {
  const text = `${name} says ${index}`;
  try {
    const at = new Date("2026-11-22T13:05:00Z");
    places.push({ text, ...(await appendNote({ workspaceDir, text, kind: "daily", at, timeZone: "UTC" })) });
  } catch (error) {
    places.push({ text, error: error instanceof Error ? error.message : String(error) });
  }
}
process.stdout.write(`${JSON.stringify(places)}\n`);
