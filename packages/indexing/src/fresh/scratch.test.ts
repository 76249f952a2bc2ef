import { test } from "vitest";
import { useTempFolders } from "../../test/support/temp-folder.ts";
import { walkAtRandom } from "./test/random-walk.ts";
const folderWith = useTempFolders();
test("x", async () => {
  const log: string[] = [];
  const walked = await walkAtRandom({ place: folderWith(), seed: Number(process.env.SEED), steps: Number(process.env.STEPS ?? 300), log: (l) => log.push(l), news: (real) => async (f) => { const told = await real(f); log.push("   " + JSON.stringify(f)+ ("notes" in told ? told.notes.map((n:any)=>n.kind[0]+" "+n.folder.replace(/.*(memory|notes)/,"$1")+" "+(n.name??n.identity)+(n.isRename?" R":"")).join("; "):JSON.stringify(told))); return told; } });
  console.log(JSON.stringify(walked, null, 1), log.slice(walked.stale ? -40 : 0, walked.stale ? undefined : 0).join("\n"));
}, 600000);
