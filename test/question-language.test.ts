import { describeQuestionLanguage } from "./support/question-language.ts";

describeQuestionLanguage("memory-core", "all");
describeQuestionLanguage("memory-lancedb", "chosen");
describeQuestionLanguage("reference", "chosen");
