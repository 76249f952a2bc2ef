import { test } from "vitest";
import { memoryLab, qmdStatus } from "./support/memory-lab.ts";
test("x", async () => {
  const lab = memoryLab();
  lab.write("memory/a.md", "The lynx was seen near the old mill.\n");
  const opened = await lab.open({ qmd: { limits: { timeoutMs: 1500 } } });
  await opened.memory.sync();
  console.log(JSON.stringify(qmdStatus(opened)));
  lab.fake.set({ mcp: { hang: true }, query: { hang: true } });
  const t = setInterval(() => console.log(JSON.stringify(qmdStatus(opened)), lab.fake.starts().map((s) => s.command).join(), lab.fake.calls().length), 1500);
  await opened.ask("lynx").catch((e) => console.log(String(e)));
  clearInterval(t);
}, 60000);
