import assert from "node:assert/strict";
import { link } from "node:fs/promises";
import { join, relative } from "node:path";
import { MemoryError, isAbort } from "@memslot/core";
import { deterministicEmbeddings } from "../deterministic-providers.ts";
import cases from "../data/memory-cases.json" with { type: "json" };
import { randomFrom } from "../helpers/seeded-random.ts";
import {
  type MemoryCheck,
  type MemoryLab,
  type Notes,
  type OpenedMemory,
  numbered,
  pathsOf,
} from "./memory-test-environment.ts";

const { vocabulary, sharedSessions, foreignSessions } = cases;
const [group = ""] = sharedSessions;
const privateSessions = [undefined, ...cases.privateSessions];

const sharedText = "The heron nests in the shared folder.";
const secret = "The heron heron heron is a secret of the owner.\n";
const privatePaths: readonly string[] = ["MEMORY.md", "USER.md", "memory/2026-01-05.md", "memory/deep/er.md"];
const privateNotes: Notes = Object.fromEntries(privatePaths.map((path) => [path, secret]));

/** Opens a workspace with private notes, and one note in a folder that `extraPaths` names. */
async function openWithShared(lab: MemoryLab, files: Notes = {}): Promise<OpenedMemory> {
  const folder = await lab.outside("shared", { "birds.md": `${sharedText}\n` });
  return await lab.openWith({ ...privateNotes, ...files }, { memorySearch: { extraPaths: [folder] } });
}

/** Expects the shared note and nothing else. */
async function assertOnlyShared(opened: OpenedMemory, sessionKey: string | undefined, maxResults = 50) {
  const { results } = await opened.ask("heron", { sessionKey, maxResults, minScore: 0 });
  const found = results.map(({ snippet }) => snippet.trim());
  assert.deepEqual(found, [sharedText], `${sessionKey}: ${pathsOf(results).join(", ")}`);
  return results[0]?.path ?? "";
}

async function assertNotAllowed(read: Promise<unknown>, what: string): Promise<void> {
  await assert.rejects(read, (error) => MemoryError.is(error, "PATH_NOT_ALLOWED"), what);
}

/** What a shared session may see. */
const sessionChecks: readonly MemoryCheck[] = [
  {
    id: "audience.shared",
    promise: "a shared session finds and reads notes of extraPaths and no private note, whether it exists or not",
    async run(lab) {
      const opened = await openWithShared(lab);
      // Without the guard, which removes private notes from every answer.
      const own = await opened.askManager("heron", {
        audience: "shared",
        sessionKey: group,
        maxResults: 50,
        minScore: 0,
      });
      assert.deepEqual(
        own.map(({ snippet }) => snippet.trim()),
        [sharedText],
        pathsOf(own).join(", "),
      );
      for (const relPath of [...privatePaths, "memory/none.md", "./MEMORY.md", "memory/../USER.md"]) {
        const signal = new AbortController().signal;
        const read = opened.manager.readFile({ relPath, from: 1, lines: 120, audience: "shared", signal });
        await assertNotAllowed(read, relPath);
      }
      for (const sessionKey of sharedSessions) {
        const path = await assertOnlyShared(opened, sessionKey);
        assert.equal((await opened.read(path, { sessionKey })).text.trim(), sharedText);
        for (const relPath of privatePaths)
          await assertNotAllowed(opened.read(relPath, { sessionKey }), `${sessionKey}: ${relPath}`);
      }
    },
  },
  {
    id: "audience.private",
    promise: "the owner's sessions find and read everything",
    async run(lab) {
      const opened = await openWithShared(lab);
      for (const sessionKey of privateSessions) {
        const found = await opened.paths("heron", { sessionKey });
        assert.equal(found.length, privatePaths.length + 1, `${sessionKey}: ${found.join(", ")}`);
        for (const relPath of privatePaths)
          assert.equal((await opened.read(relPath, { sessionKey })).status, "ok", `${sessionKey}: ${relPath}`);
      }
    },
  },
  {
    id: "audience.limit",
    promise: "private notes are excluded before maxResults is counted",
    async run(lab) {
      const opened = await openWithShared(
        lab,
        numbered(60, (index) => `The heron heron heron, entry ${index}.\n`),
      );
      await assertOnlyShared(opened, group, 1);
    },
  },
  {
    id: "audience.extra-path",
    promise: "an extra path that contains private notes does not make them shared",
    async run(lab) {
      const extraPaths = ["", "memory", "MEMORY.md"].map((path) => join(lab.workspaceDir, path));
      const opened = await lab.openWith(privateNotes, { memorySearch: { extraPaths } });
      const own = await opened.askManager("heron", {
        audience: "shared",
        sessionKey: group,
        maxResults: 50,
        minScore: 0,
      });
      assert.deepEqual(pathsOf(own), []);
    },
  },
  {
    id: "audience.hard-link",
    promise: "a private note is not shared under another name (a hard link)",
    async run(lab) {
      const linked = numbered(10, (index) => `The heron heron heron, entry ${index}.\n`);
      const opened = await openWithShared(lab, linked);
      const shared = join(lab.outsideDir, "shared");
      // One that the index knows by its own name, and ten more.
      await link(join(lab.workspaceDir, "MEMORY.md"), join(shared, "index.md"));
      for (const [index, path] of Object.keys(linked).entries())
        await link(join(lab.workspaceDir, path), join(shared, `linked-${index}.md`));
      await opened.settle();
      await assertOnlyShared(opened, group, 3);
      const relPath = relative(lab.workspaceDir, join(shared, "index.md")).replaceAll("\\", "/");
      await assertNotAllowed(opened.read(relPath, { sessionKey: group }), relPath);
      // Without the private name it is an ordinary note of the shared folder.
      await lab.remove("MEMORY.md");
      await opened.settle();
      assert.equal((await opened.read(relPath, { sessionKey: group })).status, "ok");
    },
  },
  {
    id: "audience.other-agent",
    promise: "the key of another agent's session is refused",
    async run(lab) {
      const { memory } = await openWithShared(lab);
      for (const sessionKey of foreignSessions)
        for (const call of [
          () => memory.search("heron", { sessionKey }),
          () => memory.readFile({ relPath: "MEMORY.md", sessionKey }),
        ])
          await assert.rejects(call, (error) => MemoryError.is(error, "INVALID_ARGUMENT") && !isAbort(error));
    },
  },
];

function drawNote(random: () => number, lines: number): string {
  const draw = (): string => vocabulary[Math.floor(random() * vocabulary.length)] ?? "heron";
  const line = (): string => Array.from({ length: 3 + Math.floor(random() * 6) }, draw).join(" ");
  return `# ${draw()}\n\n${Array.from({ length: lines }, line).join("\n")}\n`;
}

/** All answers to a shared session, without durations and without the time since a fallback backend answers. */
async function sharedAnswers(opened: OpenedMemory): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const query of cases.sharedQuestions) {
    for (const maxResults of [2, 20]) {
      const { results, report } = await opened.ask(query, { sessionKey: group, maxResults, minScore: 0.2 });
      const { timingsMs: _timings, fallback: _fallback, ...rest } = report;
      answers.push(JSON.parse(JSON.stringify({ query, maxResults, results, report: rest })));
    }
  }
  return answers;
}

const leaks = [
  { id: "unaffected", where: "", sharedNotes: 8 },
  { id: "unaffected-empty", where: " if there is no other note", sharedNotes: 0 },
  { id: "unaffected-vectors", where: ", by vectors", sharedNotes: 8, needs: ["vector"] as const },
];

/** A shared session learns nothing about private notes from words, counts or scores. */
const leakChecks = leaks.map(({ id, where, sharedNotes, needs }): MemoryCheck => ({
  id: `audience.${id}`,
  promise: `no answer to a shared session changes with private notes${where}`,
  ...(needs && { needs }),
  async run(lab) {
    const shared = randomFrom(8);
    const files = numbered(sharedNotes, () => drawNote(shared, 5), "notes");
    const memorySearch = { extraPaths: [await lab.outside("shared", files)] };
    const opened = await lab.openWith({}, { memorySearch, ...(needs && { embeddings: deterministicEmbeddings() }) });
    const before = await sharedAnswers(opened);
    const random = randomFrom(9);
    await lab.write({
      "MEMORY.md": "# Zanzibar\n\nThe trip to zanzibar is a secret. heron heron heron deploy\n",
      ...numbered(25, () => `${drawNote(random, 8)}\nzanzibar planets zanzibari deploy\n`),
    });
    await opened.settle();
    assert.deepEqual(await sharedAnswers(opened), before);
    assert.notEqual((await opened.ask("zanzibar trip secret")).results.length, 0, "the owner finds the private notes");
  },
}));

export const audienceChecks: readonly MemoryCheck[] = [...sessionChecks, ...leakChecks];
