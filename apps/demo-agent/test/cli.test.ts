import { type FakeChatServer, calls, says, startFakeChatServer } from "@memslot/fakes/chat";
import { afterEach, expect, test } from "vitest";
import { parseOptions } from "../src/cli-options.ts";
import data from "./data/runs.json" with { type: "json" };
import { createPlace, runDemo } from "./run-demo.ts";

let endpoint: FakeChatServer | undefined;
afterEach(async () => endpoint?.close());

test("a script of questions is answered from the sample notes, with citations, and leaves nothing behind", async () => {
  const place = createPlace();
  const script = "What does error code QF-4093 mean?\n\n葱油拌面的葱要用小火熬多久？\n我们房贷的利率是多少？\n";
  const { exitCode, stdout, stderr } = await runDemo(place, script);
  expect(stderr).toMatch(/not a language model/);
  expect(exitCode).toBe(0);
  // On a slow machine an answer adds that not all files were scanned yet.
  const [first, second, third, ...more] = stdout.split(/\n\n(?=From|笔记里|记忆里没有|Memory holds)/);
  expect(first).toMatch(/^From the notes:\n\nError codes\n> .*QF-4093.*duplicate reading/);
  expect(first).toMatch(/\n {2}memory\/infra\/work-runbook\.md#L33-L33$/m);
  expect(second).toMatch(/^笔记里写着：[^]*18 分钟[^]*memory\/菜谱\.md#L7-L7$/m);
  expect(third).toMatch(/^记忆里没有这方面的内容。/);
  expect(more).toEqual([]);
  expect(stderr).toMatch(/Index: \d+ files, \d+ chunks in memory-core, .*keyword mode/);
  expect(place.leftovers()).toEqual([]);
});

test("a model answers with the tools and what a session starts with, a refused question is one line, and the exit code tells", async () => {
  endpoint = await startFakeChatServer((_request, index) => {
    if (index === 0) return calls({ name: "memory_search", arguments: '{"query":"printer address"}' });
    return index === 1 ? says("It is 192.168.40.77.") : { status: 401, body: { error: { message: "no" } } };
  });
  const reportSdk = `import { registerHooks } from "node:module"; registerHooks({ load(url, context, next) {
    if (/node_modules.(openai|@google).(?!.*node_modules)/.test(url)) console.error("SDK " + url); return next(url, context); } });`;
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(reportSdk)}`;
  const env = { OPENAI_API_KEY: "sk-secret-4711", OPENAI_BASE_URL: endpoint.baseUrl, NODE_OPTIONS };
  const script = "Where is the printer?\nAnd now?\n";
  const { exitCode, stdout, stderr } = await runDemo(createPlace(), script, ["--model", "test-model"], env);
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "It is 192.168.40.77.\n" });
  expect(stderr).toMatch(/^Answers: test-model, which reads the notes through tools$/m);
  expect(stderr).toMatch(/^error: .* refused the key \(401\): check OPENAI_API_KEY$/m);
  expect(stderr).not.toContain("sk-secret-4711");
  // No SDK is loaded before the first request, and never one of another provider.
  expect(stderr).toMatch(/^(?![^]*SDK [^]*quit leaves)[^]*quit leaves[^]*^SDK .*openai/m);
  expect(stderr).not.toMatch(/SDK .*node_modules.@google/);
  const system = endpoint.requests[0]?.body.messages[0]?.content;
  expect(system).toContain("## Memory Recall");
  expect(system).toContain(">>> MEMORY.md ");
  const found = JSON.parse(endpoint.requests[1]?.body.messages.at(-1)?.content ?? "");
  expect(found.results[0]).toMatchObject({ path: "memory/infra/homelab.md" });
  expect(found.cite).toBe("path#L3-L9");
});

test.each(data.options as [string[], { error?: string }][])("the options %j are understood", (args, expected) => {
  const { error } = expected;
  expect(parseOptions(args)).toEqual({ ...expected, ...(error && { error: expect.stringMatching(error) }) });
});
