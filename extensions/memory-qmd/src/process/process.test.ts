import { utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isRunning } from "@memslot/test-tools/child";
import { eventually } from "@memslot/test-tools/wait";
import { expect, onTestFinished, test, vi } from "vitest";
import cases from "../../test/data/cases.json" with { type: "json" };
import { qmdEnvironment } from "./run-qmd.ts";
import { failureOf, fakeQmd, noSignal, openLab } from "./test/qmd-lab.ts";

const passed = { ...cases.passedEnvironment, PATH: process.env["PATH"] ?? "" };
const network = { HTTPS_PROXY: "http://proxy:1", no_proxy: "localhost", HF_TOKEN: "hf-secret" };
const environment = { ...cases.hostEnvironment, ...passed, ...network };

test("each process of qmd gets its arguments, the listed variables and no others, and works in its folder", async () => {
  const { fake, client, folder, update, ask } = openLab({ environment });
  await update({ "a.md": "# Alpha\n\nstaging port\n" });
  expect(await ask("staging port")).toMatchObject([{ collection: "notes", path: "a.md" }]);
  await client.embed({ minutes: 7, signal: noSignal });
  await client.cleanup(noSignal);
  const own = {
    ...passed,
    ...cases.ownEnvironment,
    INDEX_PATH: join(folder, "index.sqlite"),
    QMD_CONFIG_DIR: folder,
    PWD: folder,
    NODE_COMPILE_CACHE: join(folder, "cc"),
  };
  const query = { ...own, QMD_SQLITE_BUSY_TIMEOUT: "2000", CI: "1" };
  const work = { ...own, QMD_SQLITE_BUSY_TIMEOUT: "30000" };
  // Only `embed` may need the network.
  const expected: [argv: string[], env: object][] = [
    [["update", "--index", "index"], { ...work, CI: "1" }],
    [["mcp", "--index", "index"], query],
    [["embed", "--index", "index", "--timeout", "7"], { ...work, ...network }],
    [["cleanup", "--index", "index"], { ...work, CI: "1" }],
  ];
  expect(fake.starts().map(({ argv, env, cwd }) => [argv, env, cwd])).toEqual(
    expected.map((each) => [...each, folder]),
  );
});

test("in semantic mode CI is not set, so that qmd uses models, and a variable that the host lacks stays unset", () => {
  const semantic = { environment: { PATH: "/bin", HOME: undefined }, folder: "/s/qmd", mode: "semantic" } as const;
  const given = Object.keys(qmdEnvironment({ ...semantic, work: "query" }));
  for (const name of ["CI", "HOME", "XDG_CACHE_HOME"]) expect(given).not.toContain(name);
});

test("a command that does not finish in time fails as timeout, and its process is ended", async () => {
  const fake = fakeQmd({ behaviour: { cleanup: { hang: true, ignoreTerm: true } } });
  const { client } = openLab({ fake, limits: { updateBaseMs: 600_000 } });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"], shouldAdvanceTime: true });
  onTestFinished(() => void vi.useRealTimers());
  const failure = failureOf(client.cleanup(noSignal));
  await eventually(() => fake.starts("cleanup").length === 1);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(await failure).toMatchObject({ reason: "timeout" });
  expect(isRunning(fake.starts("cleanup")[0]?.pid ?? 0)).toBe(false);
});

test("a marker of long ago is that of a killed update, also if a process has its number now", async () => {
  const { client, folder } = openLab({ limits: { lockWaitMs: 0 } });
  const marker = join(folder, "update.unfinished");
  writeFileSync(marker, String(process.pid));
  expect(await failureOf(client.cleanup(noSignal))).toMatchObject({ reason: "index_busy" });
  utimesSync(marker, new Date(0), new Date(0));
  await client.cleanup(noSignal);
  expect(client.isTorn()).toBe(true);
});
