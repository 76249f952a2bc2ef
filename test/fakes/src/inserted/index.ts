import wrappers from "./wrappers.json" with { type: "json" };

/** The notes in the texts of `insertedTexts`. */
export const insertedNote = "NOISE about the zebra.";

/** memslot's texts for a model, made of its sentences `own`, as ten programs wrap them in messages of the user. */
export function insertedTexts(
  own: Record<"notesHeading" | "notesIntro" | "recallIntro" | "appendAdvice", string>,
): string[] {
  const key = "0123456789abcdef01234567";
  const framed = (label: string): string => `>>> ${label} ${key}\n${insertedNote}\n<<< ${label} ${key}`;
  const start = `${own.notesHeading}\n\n${own.notesIntro}\n\n${framed("MEMORY.md")}\n\n${own.appendAdvice}`;
  const recall = `${own.recallIntro}\n${framed("memory/boats.md#L3-L3")}`;
  return [start, recall].flatMap((text) =>
    wrappers.map((each) => each.replace("TEXT", () => text).replace("HTML", () => asHtml(text))),
  );
}

function asHtml(text: string): string {
  return text.replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("'", "&#39;");
}
