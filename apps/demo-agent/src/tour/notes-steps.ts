import { formatCitation } from "@memslot/agent-kit";
import { type SearchAnswer, wordsOf } from "./scripted-model.ts";
import { type Step, type Tour, timeZone } from "./tour-context.ts";

const heating = "The heating shows E-4471 when its filter is blocked: rinse it, then hold reset for five seconds.";
const recipe = "奶奶的红烧肉要用小火炖九十分钟，最后才放冰糖。";
const cat = "The vet says Momo must not eat chicken: it makes her itch.";
/** Shares no word with the matching note. */
const meantQuestion = "Does our kitten have an allergy to poultry?";
export const heatingQuestion = "What does E-4471 on the heating mean?";
export const heatingPath = "memory/2026-03-02.md";

/** Written notes are files, found by words and by meaning. */
export const notesSteps: readonly Step[] = [
  {
    name: "Notes are files, each on the user's day",
    run: async (tour) => {
      await tour.openMemory({ provider: "none" });
      tour.at("2026-03-02 23:58");
      const before = await append(tour, heating, "daily");
      tour.at("2026-03-03 00:04");
      const after = await append(tour, recipe, "daily");
      tour.say(`memory_append, 2 March at 23:58 and 3 March at 00:04 in ${timeZone}:`);
      tour.say(`${before.citation} and ${after.citation}`);
      tour.check("before and after midnight are two days", [before.day, after.day], ["2026-03-02", "2026-03-03"]);
      tour.holds("the citation names the lines that were written", await tour.cited(after.citation), recipe);
      const again = await append(tour, recipe, "daily");
      tour.check("a duplicate is recognised and not written", again.state, "duplicate");
      tour.at("2026-03-05 18:20");
      const fact = await append(tour, cat, "longterm");
      tour.holds("a lasting fact goes to MEMORY.md", await tour.cited(fact.citation), cat);
      const files = [...(await tour.notes()).keys()];
      tour.check(`no other file exists: ${files.join(", ")}`, files, [
        "MEMORY.md",
        heatingPath,
        "memory/2026-03-03.md",
      ]);
    },
  },
  {
    name: "Recall by word, in any language",
    run: async (tour) => {
      for (const [query, note] of [
        ["E-4471", heating],
        ["红烧肉要炖多久", recipe],
      ] as const) {
        const { results } = await search(tour, query);
        tour.holds(
          "found, and the cited lines say it",
          await tour.cited(results[0] && formatCitation(results[0])),
          note,
        );
      }
    },
  },
  {
    name: "Recall by meaning",
    run: async (tour) => {
      const shared = [...wordsOf(meantQuestion).intersection(wordsOf(cat))];
      tour.check("the question has no word in common with its note", shared, []);
      const byWords = await search(tour, meantQuestion);
      tour.check("keyword search alone does not find it", byWords.results.filter(isMemory), []);
      tour.say(`Now with vectors: provider "openai", and remote.baseUrl is a toy model at ${tour.embeddings.baseUrl}`);
      await tour.openMemory({ provider: "openai" });
      const { results, debug } = await search(tour, meantQuestion);
      tour.holds("by meaning it is the first result", await tour.cited(results[0] && formatCitation(results[0])), cat);
      tour.check("vector search was used", debug.mode, "hybrid");
    },
  },
];

async function search(tour: Tour, query: string): Promise<Required<SearchAnswer>> {
  const answer = (await tour.call("memory_search", { query, debug: true })) as Required<SearchAnswer>;
  const [best] = answer.results;
  const found = best === undefined ? "nothing" : `${formatCitation(best)}, score ${best.score.toFixed(2)}`;
  tour.say(`memory_search "${query}" → ${found} (${answer.debug.mode}, ${answer.state})`);
  return answer;
}

const isMemory = ({ path }: { path: string }): boolean => path === "MEMORY.md";

interface Appended {
  state: string;
  citation: string;
  day: string;
}

async function append(tour: Tour, text: string, kind: "daily" | "longterm"): Promise<Appended> {
  const appended = (await tour.call("memory_append", { text, kind })) as Appended;
  await tour.memory.sync({ signal: tour.signal });
  return appended;
}
