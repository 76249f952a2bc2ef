import { once } from "node:events";
import { writeSync } from "node:fs";
import { openSessions } from "@memslot/agent-kit";

/** A process that opens sessions of its own and, once it is told to, notes the numbers from 1 on in each of them. */
const [stateDir = "", count = "0", ...keys] = process.argv.slice(2);
const sessions = await openSessions({ stateDir, agentId: "main" });
const open = await Promise.all(keys.map((key) => sessions.open(key)));
writeSync(1, "ready\n");
await once(process.stdin, "data");
process.stdin.destroy();
for (let number = 1; number <= Number(count); number++) {
  await Promise.all(open.map((session) => session.update({ number })));
  writeSync(1, `noted ${number}\n`);
}
await sessions.close();
