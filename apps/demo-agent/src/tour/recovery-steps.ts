import { rm } from "node:fs/promises";
import path from "node:path";
import { heatingPath, heatingQuestion } from "./notes-steps.ts";
import type { Step } from "./tour-context.ts";

/** Recovery after failures, ends of processes and deleted files. */
export const recoverySteps: readonly Step[] = [
  {
    name: "The embedding provider fails",
    run: async (tour) => {
      tour.at("2026-03-24 08:15");
      await tour.openMemory({ provider: "openai" });
      await tour.embeddings.stop();
      const without = await tour.ask("What makes Momo itch?");
      tour.say(`Provider stopped: ${without.text}`);
      tour.holds("the answer is there", without.text, "chicken");
      tour.check("and says that it is degraded", tour.model.lastSearch?.state, "degraded");
      await tour.embeddings.start();
      const again = await tour.ask("May our kitten have poultry?");
      tour.say(`Provider back: ${again.text}`);
      const { state, debug } = tour.model.lastSearch ?? {};
      tour.check("vectors answer again, with nothing to reset", [state, debug?.mode], ["ok", "hybrid"]);
      tour.holds("and find what no word leads to", again.text, "chicken");
    },
  },
  {
    name: "The agent is restarted",
    run: async (tour) => {
      tour.at("2026-03-28 07:30");
      const before = await tour.records("sessions");
      await tour.openAgent();
      const opened = await tour.records("sessions");
      tour.check("nothing is lost or duplicated", opened, before);
      const seen = tour.model.seen.length;
      await tour.ask(heatingQuestion);
      const given = tour.model.seen[seen]?.text ?? "";
      const summary = before.findLast(({ type }) => type === "compaction")?.summary ?? "(no summary)";
      const last = before.findLast(({ message }) => message?.role === "assistant")?.message?.content?.[0]?.text;
      tour.say(`${before.length} lines of transcript; the context resumes with the summary and the messages after it`);
      tour.holds("the summary is in the context", given, summary);
      tour.holds("and so is what was said last", given, last ?? "(no last message)");
      const after = await tour.records("sessions");
      tour.check("the transcript has grown by this turn only", after.slice(0, before.length), before);
      const ids = after.map(({ id }) => id);
      tour.check("and every line is there once", new Set(ids).size, ids.length);
    },
  },
  {
    name: "The index is deleted",
    run: async (tour) => {
      tour.at("2026-03-31 21:00");
      const before = await tour.ask(heatingQuestion);
      await tour.memory.close();
      await rm(path.join(tour.stateDir, "memory"), { recursive: true });
      tour.say("state/memory is deleted, with every index and vector; only the notes remain");
      await tour.openMemory({ provider: "openai" });
      const { files, chunks } = tour.memory.status();
      const after = await tour.ask(heatingQuestion);
      tour.say(`Rebuilt from ${files} files (${chunks} chunks): ${after.text}`);
      tour.check("the same answer from the same lines", after, before);
      tour.check("the files are the memory", after.sources[0]?.startsWith(heatingPath), true);
    },
  },
];
