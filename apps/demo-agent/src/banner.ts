import type { DemoOptions } from "./options.ts";
import { sampleQuestions } from "./sample-workspace.ts";

export interface BannerFacts {
  options: DemoOptions;
  workspaceDir: string;
  isSample: boolean;
  index: string;
}

/** What a person should know before the first question. */
export function bannerText(facts: BannerFacts): string {
  const { options, isSample } = facts;
  return [
    "memslot demo agent: ask about a folder of Markdown notes, and see where each answer stands.",
    `Notes: ${facts.workspaceDir}${isSample ? " (a copy of the sample notes, removed at the end)" : ""}`,
    `Index: ${facts.index}`,
    `Answers: ${whoAnswers(options)}`,
    ...(isSample ? ["Try:", ...sampleQuestions.map((question) => `  ${question}`)] : []),
    "/help says more, /quit leaves.",
    "",
  ].join("\n");
}

export function helpText(isSample: boolean): string {
  return [
    "Type a question and press Enter. /quit or Ctrl-C leaves.",
    ...(isSample ? ["Your own notes: npm start -- --workspace DIR"] : []),
    "A language model answers when OPENAI_API_KEY or OPENAI_BASE_URL is set (and --model NAME chooses one).",
  ].join("\n");
}

function whoAnswers({ endpoint }: DemoOptions): string {
  if (endpoint !== undefined)
    return `${endpoint.model} at ${endpoint.baseUrl ?? "the OpenAI API"}, which reads the notes through tools`;
  return "a built-in responder. It is no language model: it finds lines in the notes and quotes them. Set OPENAI_API_KEY or OPENAI_BASE_URL to talk to a real one.";
}
