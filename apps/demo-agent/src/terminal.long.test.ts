import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type DemoPlace, createPlace } from "../test/run-demo.ts";
import { transcriptOf } from "./test/agent-place.ts";
import { type FakeChatServer, frame, says, startFakeChatServer } from "@memslot/fakes/chat";
import { type PtyDemo, startPtyDemo } from "../test/support/pty-demo.ts";

const [arrowUp, tab, ctrlC, ctrlD] = ["\u001B[A", "\t", "\u0003", "\u0004"];
const prompt = "you> ";

let place: DemoPlace;
let demo: PtyDemo | undefined;
let server: FakeChatServer | undefined;
beforeEach(async () => {
  place = await createPlace();
  await mkdir(path.join(place.rootDir, "notes", "memory"), { recursive: true });
  const text = "# Boats\n\n- The gate code of the harbour is HX-19.\n";
  await writeFile(path.join(place.rootDir, "notes", "memory", "boats.md"), text);
});
afterEach(async () => {
  demo?.kill();
  await demo?.ended;
  await server?.close();
  await place.remove();
});

const own = ["--workspace", "notes"];
const historyFile = (): string => path.join(place.homeDir, ".memslot", "demo-history");
const withModel = (): Record<string, string> => ({ OPENAI_BASE_URL: server?.baseUrl ?? "" });

describe.skipIf(process.platform === "win32")("the chat at a terminal", { timeout: 120_000 }, () => {
  test("prompts, answers, completes, remembers what was typed, and leaves by /quit", async () => {
    demo = startPtyDemo(place, own);
    await demo.shown("/quit leaves.");
    await demo.shown(prompt);
    demo.type("gate code of the harbour?\r");
    await demo.shown("The gate code of the harbour is HX-19.");
    expect(await demo.shown(prompt)).toContain("\u001B[2mMemory: memory/boats.md#L3-L3\u001B[22m");

    demo.type(`/he${tab}`);
    await demo.shown("/help");
    demo.type("\r");
    await demo.shown("/backend [ID]");
    await demo.shown(prompt);
    demo.type("/search harbour\r");
    await demo.shown(/\d\.\d{3} memory\/boats\.md#L1-L3/);
    await demo.shown("HX-19");
    await demo.shown(prompt);
    demo.type("/sources\r");
    await demo.shown("memory/boats.md#L3-L3");
    await demo.shown(prompt);
    demo.type("/memory\r");
    await demo.shown("0 daily logs");
    await demo.shown(prompt);
    demo.type("/serch x\r");
    await demo.shown("Did you mean /search?");
    await demo.shown(prompt);
    // Not kept: it begins with a space.
    demo.type(" the secret word\r");
    await demo.shown("Memory:");
    await demo.shown(prompt);
    demo.type(arrowUp);
    await demo.shown("/serch x");
    demo.type("\u0015/quit\r");
    expect(await demo.ended).toBe(0);
    const kept = await readFile(historyFile(), "utf8");
    expect(kept.trimEnd().split("\n").at(0)).toBe("gate code of the harbour?");
    expect(kept).not.toContain("secret");
    expect((await stat(historyFile())).mode & 0o777).toBe(0o600);

    demo = startPtyDemo(place, own);
    await demo.shown(prompt);
    demo.type(`${arrowUp}${arrowUp}${arrowUp}`);
    await demo.shown("/memory");
    demo.type(`\u0015${ctrlD}`);
    expect(await demo.ended).toBe(0);
  });

  test("streams the answer; one Ctrl-C stops it and brings the prompt back, and it is not kept", async () => {
    server = await startFakeChatServer((_request, index) =>
      index === 0 ? { pieces: [frame({ content: "It begins" })], end: "open" } : says("And here it is."),
    );
    demo = startPtyDemo(place, own, withModel());
    await demo.shown(prompt);
    demo.type("tell me\r");
    await demo.shown("It begins");
    demo.resize(40, 12);
    demo.type(`typed ahead${ctrlC}`);
    await demo.shown("(stopped)");
    // What was typed meanwhile waits at the prompt.
    await demo.shown(`${prompt}`);
    await demo.shown("typed ahead");
    demo.resize(100, 30);
    demo.type("\u0015tell me\r");
    await demo.shown("And here it is.");
    await demo.shown(prompt);
    const asked = server.requests.at(-1)?.body.messages.map(({ role, content }) => [role, content]);
    expect(asked?.slice(1)).toEqual([["user", "tell me"]]);
    demo.type("/quit\r");
    expect(await demo.ended).toBe(0);
  });

  test("Ctrl-C twice leaves with 130, at the prompt and while an answer hangs", async () => {
    server = await startFakeChatServer(() => "hang");
    demo = startPtyDemo(place, own, withModel());
    await demo.shown(prompt);
    demo.type(`half a line${ctrlC}`);
    await demo.shown("(Ctrl-C again leaves)");
    await demo.shown(prompt);
    demo.type(ctrlC);
    expect(await demo.ended).toBe(130);

    demo = startPtyDemo(place, own, withModel());
    await demo.shown(prompt);
    demo.type("hello\r");
    while (server.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    demo.type(`${ctrlC}${ctrlC}`);
    expect(await demo.ended).toBe(130);
  });

  test("killed in the middle of an answer, it tells the open question at its next start and answers it once", async () => {
    server = await startFakeChatServer((_request, index) =>
      index === 0 ? { pieces: [frame({ content: "It begins" })], end: "open" } : says("Now I can."),
    );
    demo = startPtyDemo(place, own, withModel());
    await demo.shown(prompt);
    demo.type("tell me\r");
    await demo.shown("It begins");
    demo.kill();
    await demo.ended;

    demo = startPtyDemo(place, own, withModel());
    await demo.shown("Not answered yet: tell me");
    await demo.shown(prompt);
    expect(server.requests).toHaveLength(1);
    demo.type("\r");
    await demo.shown("Now I can.");
    await demo.shown(prompt);
    demo.type("\r/quit\r");
    expect(await demo.ended).toBe(0);
    expect(server.requests).toHaveLength(2);
    const said = await transcriptOf(path.join(place.homeDir, ".memslot"));
    expect(said).toEqual(["user: tell me", "assistant: Now I can."]);

    demo = startPtyDemo(place, own, withModel());
    expect(await demo.shown(prompt)).not.toContain("Not answered");
    demo.type(`\r${ctrlD}`);
    expect(await demo.ended).toBe(0);
    expect(server.requests).toHaveLength(2);
  });

  test("/backend changes the memory in mid-conversation, and a wrong one leaves it as it is", async () => {
    demo = startPtyDemo(place, own, { NO_COLOR: "1" });
    await demo.shown(prompt);
    demo.type("/backend memory-cloud\r");
    await demo.shown(/error: .*"memory-cloud"/);
    await demo.shown(prompt);
    demo.type("gate code of the harbour?\r");
    await demo.shown("HX-19");
    await demo.shown(prompt);
    demo.type("/backend memory-lancedb\r");
    await demo.shown("in memory-lancedb");
    await demo.shown(prompt);
    demo.type("gate code of the harbour?\r");
    await demo.shown("HX-19");
    await demo.shown("Memory: memory/boats.md#L3-L3");
    await demo.shown(prompt);
    demo.type("/status\r");
    await demo.shown(/Memory: .*memory-lancedb[^]*4 messages/);
    demo.type("/quit\r");
    expect(await demo.ended).toBe(0);
    // oxlint-disable-next-line no-control-regex -- colours are what is looked for
    expect(demo.raw).not.toMatch(/\u001B\[\d*m/);
  });
});
