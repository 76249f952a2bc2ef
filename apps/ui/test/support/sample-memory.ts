import { utimesSync } from "node:fs";
import path from "node:path";
import type { EmbeddingProvider } from "@memslot/core";
import { writeFiles } from "@memslot/test-tools/files";
import { onTestFinished, vi } from "vitest";
import sample from "../data/sample-memory.json" with { type: "json" };
import { type AgentChange, changeNote, openSession, startUi, type UiServer } from "./ui-server.ts";

/** When the pictures of the documentation are taken. */
export const sampleNow: Date = new Date(sample.now);

const dimensions = 64;

/** Texts with common words are near each other. */
function vectorOf(text: string): number[] {
  const vector = Array.from({ length: dimensions }, () => 0.01);
  for (const { segment } of new Intl.Segmenter(undefined, { granularity: "word" }).segment(text.toLowerCase())) {
    const hash = [...segment].reduce((sum, sign) => (Math.imul(sum, 31) + (sign.codePointAt(0) ?? 0)) >>> 0, 7);
    if (/\p{L}{3}|\p{Script=Han}/u.test(segment)) vector[hash % dimensions] = (vector[hash % dimensions] ?? 0) + 1;
  }
  return vector;
}

const embeddings: EmbeddingProvider = {
  id: "sample",
  model: "words",
  price: { usdPerMillionTokens: 0.02, asOf: "2026-01-02", source: "the sample" },
  embedQuery: async (text) => vectorOf(text),
  embedBatch: async (texts) => texts.map(vectorOf),
};

function dateFile(file: string, time: number): void {
  utimesSync(file, time / 1000, time / 1000);
}

/** Serves a year of notes, conversations and changes that were written for pictures. The date is `sampleNow`. */
export async function startSample(): Promise<UiServer> {
  const at = (time: string | Date): unknown => vi.useFakeTimers({ toFake: ["Date"], now: new Date(time) });
  onTestFinished(() => void vi.useRealTimers());
  at(sampleNow);
  const ui = await startUi({ notes: {}, embeddings, memorySearch: { chunking: { tokens: 64, overlap: 0 } } });
  writeFiles(ui.workspaceDir, sample.notes);
  for (const [index, name] of Object.keys(sample.notes).toReversed().entries()) {
    const [day] = /\d{4}-\d{2}-\d{2}/u.exec(name) ?? [];
    const time = day === undefined ? sampleNow.getTime() - (index + 30) * 7_200_000 : Date.parse(`${day}T12:40:00Z`);
    dateFile(path.join(ui.workspaceDir, name), time);
  }
  for (const { at: time, ...change } of sample.changes as (AgentChange & { at: string })[]) {
    at(time);
    await changeNote(ui, change);
    dateFile(path.join(ui.workspaceDir, change.path), Date.parse(time));
  }
  for (const { key, at: time, texts, search } of sample.sessions) {
    const session = await openSession(ui, key);
    for (const [index, text] of texts.entries()) {
      at(new Date(Date.parse(time) + index * 40_000));
      const call = { id: "1", name: "memory_search", arguments: JSON.stringify({ query: search }) };
      const toolCalls = index === 1 && search !== undefined ? [call] : [];
      if (toolCalls.length > 0) {
        await session.append({ role: "assistant", text: "", toolCalls });
        const results = [{ path: "memory/projects/postgres-upgrade.md", startLine: 8, endLine: 12 }];
        const tool = { role: "tool", toolCallId: "1", toolName: "memory_search" } as const;
        await session.append({ ...tool, text: JSON.stringify({ results }) });
      }
      await session.append(index % 2 === 0 ? { role: "user", text } : { role: "assistant", text });
    }
    dateFile(session.file, Date.parse(time) + texts.length * 40_000);
  }
  at(sampleNow);
  await ui.host.memory.sync({ reason: "sample" });
  return ui;
}
