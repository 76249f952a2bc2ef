// Appends numbered lines to a file, each with a call of its own as a program does that keeps a log, until its standard
// input ends. Prints how many there were.
import { closeSync, openSync, writeSync } from "node:fs";

const [file = "", name = "", pauseMs = "20"] = process.argv.slice(2);
let count = 0;
const timer = setInterval(() => {
  const log = openSync(file, "a");
  writeSync(log, `- ${name} wrote entry${++count} of ${name}.\n`);
  closeSync(log);
}, Number(pauseMs));
process.stdin.resume().on("end", () => {
  clearInterval(timer);
  process.stdout.write(`${count}\n`);
});
