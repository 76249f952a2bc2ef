import { writeFile } from "node:fs/promises";
import path from "node:path";
import type { ClientId } from "@memslot/core";
import { insertedTexts } from "@memslot/fakes/inserted";
import { ownTexts } from "@memslot/indexing/host";
import { beforeEach, describe, expect, test } from "vitest";
import { type Sandbox } from "../run-memslot.ts";
import recorded from "./recorded.json" with { type: "json" };
import { ask, contextOf, createNotes, journalOf, sendTo, served } from "./run-hook.ts";

interface Recorded {
  stop: string;
  prompt: string;
  typed: string;
  /** Lines of a transcript, and one whose user message is `WRAPPED`. OpenCode sends messages instead. */
  lines?: object[];
  wrapped?: object;
}

/** Our text for a model, as programs wrap it in messages of the user. */
const wrapped = insertedTexts(ownTexts);

describe.each(Object.entries(recorded.programs) as [ClientId, Recorded][])(
  "of what %s records",
  (client, { stop, prompt, typed, lines, wrapped: line }) => {
    let sandbox: Sandbox;
    beforeEach(async () => {
      sandbox = await createNotes();
    });
    const event = { session_id: "s", cwd: "/home/user/app" };
    /** How the hook handles an event, and what it answers. */
    const alone = async (input: object, ...more: string[]): Promise<string> =>
      (await sendTo(sandbox, client, input, ...more)).stdout;
    const besideServer = async (input: object, ...more: string[]): Promise<string> => {
      const { answer } = await ask(sandbox, client, input, { more });
      expect(answer).toBeDefined();
      return answer ?? "";
    };
    const ways = process.platform === "win32" ? [alone] : [alone, besideServer];

    test.each(ways)("only what the user typed is in the journal: %o", async (send) => {
      if (send === besideServer) await served(sandbox);
      const transcript = path.join(sandbox.cwd, "t.jsonl");
      const inserted = wrapped.map((text, index) =>
        JSON.parse(
          JSON.stringify(line ?? {}).replace('"WRAPPED"', () => JSON.stringify(text)),
          (name, value: unknown) => (name === "uuid" || name === "id" ? `${String(value)}-${index}` : value),
        ),
      );
      const messages = [typed, ...wrapped].map((text, index) => ({ id: `m${index}`, role: "user", text }));
      await writeFile(transcript, [...(lines ?? []), ...inserted].map((each) => `${JSON.stringify(each)}\n`).join(""));
      const given = lines === undefined ? { messages } : { transcript_path: transcript };
      await send({ ...event, ...given, hook_event_name: stop });
      const entries = (await journalOf(sandbox)).split("\n").flatMap((each) => {
        const { message } = JSON.parse(each || "{}") as { message?: { role: string; content: unknown } };
        return message === undefined ? [] : message;
      });
      expect(entries).toHaveLength(1);
      expect(entries[0]).toMatchObject({ role: "user" });
      expect(JSON.stringify(entries[0]?.content)).toContain(typed);
      expect(JSON.stringify(entries)).not.toMatch(/NOISE|zebra|memslot/u);
    });

    test.each(ways)("a prompt of inserted text brings no notes: %o", async (send) => {
      if (send === besideServer) await served(sandbox);
      for (const [index, text] of wrapped.slice(0, 3).entries()) {
        const asked = { ...event, hook_event_name: prompt, turn_id: String(index), prompt: text };
        const stdout = await send(asked, "--recall", "always");
        expect(contextOf({ stdout, stderr: "", exitCode: 0 })).toBe("");
      }
    });
  },
);
