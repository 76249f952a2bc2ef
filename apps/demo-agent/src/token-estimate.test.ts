import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { answerTokens } from "@memslot/core";
import { createMemoryTools } from "@memslot/agent-kit";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { expect, test } from "vitest";

const root = path.join(import.meta.dirname, "../../..");

/** Twelve lines after another, as a passage may have. */
function passagesOf(file: string): string[] {
  const lines = readFileSync(file, "utf8").split("\n");
  const starts = Array.from({ length: Math.ceil(lines.length / 12) }, (_, index) => index * 12);
  return starts.map((start) => lines.slice(start, start + 12).join("\n")).filter((text) => text.trim().length > 30);
}

function kindOf(text: string): string {
  if (/\p{Script=Han}/u.test(text)) return "Chinese";
  if (/\b(?:der|die|und|ist|nicht)\b/u.test(text)) return "German";
  return /^\|/mu.test(text) ? "a table" : "English";
}

const vault = path.join(root, "bench/vault/notes");
const notes = readdirSync(vault, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".md"))
  .flatMap((name) => passagesOf(path.join(vault, name)));
const sources = ["core/src/open/open-memory.ts", "indexing/src/search/rank.ts", "core/src/config/paths.ts"];
const code = sources.flatMap((name) => passagesOf(path.join(root, "packages", name)));

test.each([
  ["English", notes],
  ["German", notes],
  ["Chinese", notes],
  ["a table", notes],
  ["code", code],
])("what a passage costs is estimated within 7 %% of a real tokenizer: %s", (kind, all) => {
  const passages = kind === "code" ? all : all.filter((text) => kindOf(text) === kind);
  let [real, estimated, apart] = [0, 0, 0];
  for (const text of passages) {
    const [is, told] = [encode(text).length, answerTokens(text)];
    real += is;
    estimated += told;
    apart += Math.abs(is - told);
  }
  expect(real).toBeGreaterThan(2000);
  expect(estimated / real).toBeGreaterThan(0.93);
  expect(estimated / real).toBeLessThan(1.07);
  // One by one they may be further off, up or down.
  expect(apart / real).toBeLessThan(0.11);
});

test.each([
  "Вчера мы решили перенести резервные копии на новый сервер, потому что старый диск почти заполнен.",
  "El año pasado la señora Muñoz firmó el contrato en A Coruña por 1.250 euros.",
  "L'été dernier, nous avons réservé l'hôtel à Besançon.",
  "東京の会議は来週の火曜日に延期されました。",
  "/usr/local/share/doc/readme.md:12 https://example.com/a?b=c&d=42",
  "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
])("and is not far from it elsewhere: %s", (text) => {
  const ratio = answerTokens(text) / encode(text).length;
  expect(ratio).toBeGreaterThan(0.75);
  expect(ratio).toBeLessThan(1.45);
});

test("the tools cost a model no more than they did, whatever is said of them", () => {
  const tools = createMemoryTools({
    memory: undefined,
    unavailable: { error: new Error("not opened") },
    citations: "auto",
  });
  const told = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  expect(told).toHaveLength(3);
  expect(encode(JSON.stringify(told)).length).toBeLessThanOrEqual(865);
  // True of any folder of notes, whatever its layout is.
  for (const { name, description } of told.filter((tool) => tool.name !== "memory_append"))
    expect(description, name).not.toMatch(/MEMORY\.md|USER\.md|memory\//u);
});
