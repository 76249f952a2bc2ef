import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { spawn } from "@lydell/node-pty";
import { type FakeChatServer, frame, says, startFakeChatServer } from "@memslot/fakes/chat";
import { eventually } from "@memslot/test-tools/wait";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cli, createPlace, demoEnv, type DemoPlace } from "../test/run-demo.ts";
import { transcriptOf } from "./test/agent-place.ts";

const [arrowUp, tab, ctrlC, ctrlD] = ["\u001B[A", "\t", "\u0003", "\u0004"];
const prompt = "you> ";

let place: DemoPlace;
let demo: PtyDemo | undefined;
let server: FakeChatServer | undefined;
beforeEach(() => {
  place = createPlace({ "notes/memory/boats.md": "# Boats\n\n- The gate code of the harbour is HX-19.\n" });
});
afterEach(async () => {
  demo?.kill();
  await demo?.ended;
  await server?.close();
});

/** The chat as a user at a terminal sees it. */
interface PtyDemo {
  type(keys: string): void;
  /** Types the first text of each step and waits for the others, in this order. */
  play(...steps: [keys: string, ...shown: (string | RegExp)[]][]): Promise<void>;
  /** Waits until `wanted` was shown since the last call that found something. Returns what was shown up to it. */
  shown(wanted: string | RegExp): Promise<string>;
  /** The whole output, with the control sequences of the terminal. */
  readonly raw: string;
  resize(columns: number, rows: number): void;
  ended: Promise<number>;
  kill(): void;
}

function startPtyDemo(env: Record<string, string> = {}): PtyDemo {
  const terminal = spawn(process.execPath, ["--conditions=@memslot/source", cli, "--workspace", "notes"], {
    name: "xterm-256color",
    cols: 100,
    rows: 30,
    cwd: place.rootDir,
    env: demoEnv(place, { TERM: "xterm-256color", ...env }),
  });
  let [raw, seen, over] = ["", 0, false];
  terminal.onData((data) => (raw += data));
  const { promise: ended, resolve } = Promise.withResolvers<number>();
  terminal.onExit(({ exitCode }) => {
    over = true;
    resolve(exitCode);
  });
  const type = (keys: string): void => terminal.write(keys);
  const shown: PtyDemo["shown"] = async (wanted) => {
    const pattern = typeof wanted === "string" ? new RegExp(RegExp.escape(wanted)) : wanted;
    await eventually(() => over || pattern.test(raw.slice(seen)), `${pattern} was shown`, 200_000);
    const found = pattern.exec(raw.slice(seen));
    if (found === null) throw new Error(`ended without ${pattern}; shown: ${JSON.stringify(raw.slice(seen))}`);
    const from = seen;
    seen += found.index + found[0].length;
    return raw.slice(from, seen);
  };
  return {
    type,
    shown,
    play: async (...steps) => {
      for (const [keys, ...texts] of steps) {
        type(keys);
        for (const text of texts) await shown(text);
      }
    },
    get raw() {
      return raw;
    },
    resize: (columns, rows) => terminal.resize(columns, rows),
    ended,
    kill: () => over || terminal.kill("SIGKILL"),
  };
}

const historyFile = (): string => path.join(place.homeDir, ".memslot", "demo-history");
const withModel = (): Record<string, string> => ({ OPENAI_BASE_URL: server?.baseUrl ?? "" });

describe.skipIf(process.platform === "win32")("the chat at a terminal", { timeout: 300_000 }, () => {
  test("prompts, answers, completes, remembers what was typed, and leaves by /quit", async () => {
    demo = startPtyDemo();
    await demo.play(["", "/quit leaves.", prompt]);
    await demo.play(["gate code of the harbour?\r", "The gate code of the harbour is HX-19."]);
    expect(await demo.shown(prompt)).toContain("\u001B[2mMemory: memory/boats.md#L3-L3\u001B[22m");
    await demo.play(
      [`/he${tab}`, "/help"],
      ["\r", "/backend [ID]", prompt],
      ["/search harbour\r", /\d\.\d{3} memory\/boats\.md#L1-L3/, "HX-19", prompt],
      ["/sources\r", "memory/boats.md#L3-L3", prompt],
      ["/memory\r", "0 daily logs", prompt],
      ["/serch x\r", "Did you mean /search?", prompt],
      // Not kept: it begins with a space.
      [" the secret word\r", "Memory:", prompt],
      [arrowUp, "/serch x"],
      ["\u0015/quit\r"],
    );
    expect(await demo.ended).toBe(0);
    const kept = readFileSync(historyFile(), "utf8");
    expect(kept.trimEnd().split("\n").at(0)).toBe("gate code of the harbour?");
    expect(kept).not.toContain("secret");
    expect(statSync(historyFile()).mode & 0o777).toBe(0o600);

    demo = startPtyDemo();
    await demo.play(["", prompt], [arrowUp.repeat(3), "/memory"], [`\u0015${ctrlD}`]);
    expect(await demo.ended).toBe(0);
  });

  test("streams the answer; one Ctrl-C stops it and brings the prompt back, and it is not kept", async () => {
    server = await startFakeChatServer((_request, index) =>
      index === 0 ? { pieces: [frame({ content: "It begins" })], end: "open" } : says("And here it is."),
    );
    demo = startPtyDemo(withModel());
    await demo.play(["", prompt], ["tell me\r", "It begins"]);
    demo.resize(40, 12);
    // The text that was typed meanwhile waits at the prompt.
    await demo.play([`typed ahead${ctrlC}`, "(stopped)", prompt, "typed ahead"]);
    demo.resize(100, 30);
    await demo.play(["\u0015tell me\r", "And here it is.", prompt]);
    const asked = server.requests.at(-1)?.body.messages.map(({ role, content }) => [role, content]);
    expect(asked?.slice(1)).toEqual([["user", "tell me"]]);
    demo.type("/quit\r");
    expect(await demo.ended).toBe(0);
  });

  test("Ctrl-C twice exits with 130, at the prompt and while an answer hangs", async () => {
    server = await startFakeChatServer(() => "hang");
    demo = startPtyDemo(withModel());
    await demo.play(["", prompt], [`half a line${ctrlC}`, "(Ctrl-C again leaves)", prompt], [ctrlC]);
    expect(await demo.ended).toBe(130);

    demo = startPtyDemo(withModel());
    await demo.play(["", prompt], ["hello\r"]);
    await eventually(() => server?.requests.length === 1);
    demo.type(`${ctrlC}${ctrlC}`);
    expect(await demo.ended).toBe(130);
  });

  test("after kill -9 in the middle of an answer, the next start shows the open question, which is answered once", async () => {
    server = await startFakeChatServer((_request, index) =>
      index === 0 ? { pieces: [frame({ content: "It begins" })], end: "open" } : says("Now I can."),
    );
    demo = startPtyDemo(withModel());
    await demo.play(["", prompt], ["tell me\r", "It begins"]);
    demo.kill();
    await demo.ended;

    demo = startPtyDemo(withModel());
    await demo.play(["", "Not answered yet: tell me", prompt]);
    expect(server.requests).toHaveLength(1);
    await demo.play(["\r", "Now I can.", prompt], ["\r/quit\r"]);
    expect(await demo.ended).toBe(0);
    expect(server.requests).toHaveLength(2);
    const said = await transcriptOf(path.join(place.homeDir, ".memslot"));
    expect(said).toEqual(["user: tell me", "assistant: Now I can."]);
  });

  test("/backend changes the memory in mid-conversation, and a wrong one leaves it as it is", async () => {
    demo = startPtyDemo({ NO_COLOR: "1" });
    await demo.play(
      ["", prompt],
      ["/backend memory-cloud\r", /error: .*"memory-cloud"/, prompt],
      ["gate code of the harbour?\r", "HX-19", prompt],
      ["/backend memory-lancedb\r", "in memory-lancedb", prompt],
      ["gate code of the harbour?\r", "HX-19", "Memory: memory/boats.md#L3-L3", prompt],
      ["/status\r", /Memory: .*memory-lancedb[^]*4 messages/],
      ["/quit\r"],
    );
    expect(await demo.ended).toBe(0);
    // oxlint-disable-next-line no-control-regex -- colours are what is looked for
    expect(demo.raw).not.toMatch(/\u001B\[\d*m/);
  });
});
