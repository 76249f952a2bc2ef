import { existsSync } from "node:fs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type FakeChatServer, calls, says, startFakeChatServer } from "@memslot/fakes/chat";
import { type DemoPlace, createPlace, ended, runDemo, startDemo } from "./run-demo.ts";

let place: DemoPlace;
beforeEach(async () => {
  place = await createPlace();
});
afterEach(async () => place.remove());

describe("without any option", () => {
  test("a script of questions is answered from the sample notes, with citations, and leaves nothing behind", async () => {
    const script = "What does error code QF-4093 mean?\n\n葱油拌面的葱要用小火熬多久？\n我们房贷的利率是多少？\n";
    const { exitCode, stdout, stderr } = await runDemo(place, script);
    expect(stderr).toMatch(/no language model/);
    expect(exitCode).toBe(0);
    const [first, second, third, ...more] = stdout.split(/\n\n(?=From|笔记|记忆|Memory)/);
    expect(first).toMatch(/^From the notes:\n\nError codes\n> .*QF-4093.*duplicate reading/);
    expect(first).toMatch(/\n {2}memory\/infra\/work-runbook\.md#L33-L33$/);
    expect(second).toMatch(/^笔记里写着：[^]*18 分钟[^]*memory\/菜谱\.md#L7-L7$/);
    expect(third).toMatch(/^记忆里没有这方面的内容。/);
    expect(more).toEqual([]);
    expect(stderr).toMatch(/Index: \d+ files, \d+ chunks in memory-core, .*keyword mode/);
    expect(await place.leftovers()).toEqual([]);
  });

  test("a configuration in the current folder and an index of the user's are left alone", async () => {
    await writeFile(path.join(place.rootDir, "memslot.json5"), '{ plugins: { slots: { memory: "none" } } }');
    const stateDir = path.join(place.rootDir, "state");
    const config = path.join(place.rootDir, "mine.json5");
    await writeFile(config, "{ this is broken");
    const { exitCode, stdout } = await runDemo(place, "", ["--ask", "Which address is the printer pinned to?"], {
      MEMSLOT_HOME: stateDir,
      MEMSLOT_CONFIG: config,
      MEMSLOT_WORKSPACE: place.homeDir,
    });
    expect(stdout).toContain("192.168.40.77");
    expect(exitCode).toBe(0);
    expect(existsSync(stateDir)).toBe(false);
  });
});

describe("options", () => {
  test("--help shows the usage", async () => {
    const { exitCode, stdout, stderr } = await runDemo(place, "", ["--help"]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toMatch(/^Usage: npm start -- \[options\]/);
  });

  test("an unknown option shows the usage and exits with 2", async () => {
    const { exitCode, stdout, stderr } = await runDemo(place, "", ["--colour"]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(/--colour[^]*Usage:/);
    expect(await place.leftovers()).toEqual([]);
  });

  test("--ask answers one question and does not wait for input", async () => {
    const child = startDemo(place, ["--ask", "Which address is the printer pinned to?"]);
    const { exitCode, stdout } = await ended(child);
    expect(stdout).toMatch(/192\.168\.40\.77[^]*memory\/infra\/homelab\.md#L59-L59\n$/);
    expect(exitCode).toBe(0);
  });

  test("--workspace answers from one's own notes and keeps the index in the user's state folder", async () => {
    const notes = path.join(place.rootDir, "notes");
    await mkdir(path.join(notes, "memory"), { recursive: true });
    await writeFile(path.join(notes, "memory", "boats.md"), "# Boats\n\n- The gate code of the harbour is HX-19.\n");
    const { exitCode, stdout, stderr } = await runDemo(place, "gate code of the harbour?\n", ["--workspace", "notes"]);
    expect(stdout).toContain("> The gate code of the harbour is HX-19.\n  memory/boats.md#L3-L3");
    expect(exitCode).toBe(0);
    expect(stderr).not.toContain("Try:");
    expect(await readdir(place.homeDir)).toEqual([".memslot"]);
    expect(await readdir(notes)).toEqual(["memory"]);
  });

  test("a workspace that is missing is a clear error and is not made", async () => {
    const missing = path.join(place.rootDir, "no-such-folder");
    const { exitCode, stdout, stderr } = await runDemo(place, "x\n", ["--workspace", missing]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(stderr).toMatch(/^error: .*no-such-folder/m);
    expect(existsSync(missing)).toBe(false);
  });

  test("--backend none answers that memory is off", async () => {
    const { exitCode, stdout } = await runDemo(place, "x\n", ["--backend", "none"]);
    expect(stdout).toMatch(/^Memory is off \(plugins\.slots\.memory is "none"\)/);
    expect(exitCode).toBe(0);
  });

  test("an unknown backend is an error that lists the known ones", async () => {
    const { exitCode, stderr } = await runDemo(place, "x\n", ["--backend", "memory-cloud"]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^error: .*"memory-cloud".*"memory-core"/m);
    expect(await place.leftovers()).toEqual([]);
  });
});

describe("with an endpoint", () => {
  let endpoint: FakeChatServer | undefined;
  afterEach(async () => endpoint?.close());

  test("the model answers, with the tools and what a session starts with", async () => {
    endpoint = await startFakeChatServer((_request, index) =>
      index === 0
        ? calls({ name: "memory_search", arguments: '{"query":"printer address"}' })
        : says("It is 192.168.40.77."),
    );
    const { exitCode, stdout, stderr } = await runDemo(place, "Where is the printer?\n", ["--model", "test-model"], {
      OPENAI_API_KEY: "sk-secret-4711",
      OPENAI_BASE_URL: endpoint.baseUrl,
    });
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: "It is 192.168.40.77.\n" });
    expect(stderr).toMatch(/^Answers: test-model, which reads the notes through tools$/m);
    expect(stderr).not.toContain("sk-secret-4711");
    const system = endpoint.requests[0]?.body.messages[0]?.content;
    expect(system).toContain("## Memory Recall");
    expect(system).toContain(">>> MEMORY.md ");
    const found = JSON.parse(endpoint.requests[1]?.body.messages.at(-1)?.content ?? "");
    expect(found.results[0]).toMatchObject({ path: "memory/infra/homelab.md" });
    expect(found.cite).toBe("path#L3-L9");
  });

  test("a question that the endpoint refuses is one line beside the answers, the next is asked, and the exit code tells", async () => {
    endpoint = await startFakeChatServer((_request, index) =>
      index === 0 ? { status: 401, body: { error: { message: "no" } } } : says("fine"),
    );
    const { exitCode, stdout, stderr } = await runDemo(place, "one\ntwo\n", [], {
      OPENAI_API_KEY: "k",
      OPENAI_BASE_URL: endpoint.baseUrl,
    });
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "fine\n" });
    expect(stderr).toMatch(/^error: .* refused the key \(401\): check OPENAI_API_KEY$/m);
  });
});
