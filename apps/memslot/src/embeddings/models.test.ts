import { homedir } from "node:os";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { UsageError } from "../terminal/exit-code.ts";
import { chooseModel, modelAt, offeredModels } from "./models.ts";

const where = { cwd: path.resolve("/somewhere"), env: { HOME: homedir(), USERPROFILE: homedir() } };

describe("a model that is named", () => {
  test("is one of those that are offered, with licence, size and languages, in any case of letters", () => {
    expect(chooseModel(undefined, where)).toBe(offeredModels[0]);
    expect(chooseModel("EmbeddingGemma-300m", where)).toBe(offeredModels[0]);
    expect(chooseModel(" bge-m3 ", where)).toMatchObject({ megabytes: 635, licence: expect.stringMatching(/^MIT/u) });
  });

  test("is a file, made absolute from the current folder or from home", () => {
    expect(chooseModel("models/mine.gguf", where)).toEqual({
      name: "mine.gguf",
      address: path.join(where.cwd, "models/mine.gguf"),
    });
    expect(chooseModel("~/mine.GGUF", where).address).toBe(path.join(homedir(), "mine.GGUF"));
  });

  test("is an address, of which nothing behind a question mark gets into the name", () => {
    const signed = "https://models.example/tiny.gguf?signature=secret";
    expect(chooseModel(signed, where)).toEqual({ name: "tiny.gguf", address: signed });
    const hub = chooseModel("hf:ada/tiny/folder/tiny.gguf#branch", where);
    expect(hub).toMatchObject({ name: "tiny.gguf", licence: "see https://huggingface.co/ada/tiny" });
  });

  test("keeps its licence where its file lies elsewhere", () => {
    const elsewhere = modelAt("/srv/models/embeddinggemma-300M-Q8_0.gguf");
    expect(elsewhere).toMatchObject({
      name: "embeddinggemma-300m",
      address: "/srv/models/embeddinggemma-300M-Q8_0.gguf",
    });
    expect(elsewhere.licence).toContain("ai.google.dev/gemma/terms");
  });

  test.each(["gemma", "", "tiny.bin", "ollama:nomic"])("%j is refused with what there is", (typed) => {
    expect(() => chooseModel(typed, where)).toThrow(UsageError);
    expect(() => chooseModel(typed, where)).toThrow(/embeddinggemma-300m, bge-m3, a \.gguf file, hf:/u);
  });
});
