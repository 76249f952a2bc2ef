import { describeQueryLanguage } from "../support/query-language.ts";
import { describeQuestionLanguage } from "../support/question-language.ts";

for (const backend of ["memory-core by meaning", "memory-lancedb", "reference", "qmd"] as const)
  describeQueryLanguage(backend, "all");
for (const backend of ["memory-lancedb", "reference"] as const) describeQuestionLanguage(backend, "all");
