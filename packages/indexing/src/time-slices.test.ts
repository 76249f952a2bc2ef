import { expect, onTestFinished, test, vi } from "vitest";
import { beforeOtherWork, createTimeSlices } from "./time-slices.ts";

const { signal } = new AbortController();

/** What has ended, in order: a search that the test ends, and a pause beside it. */
function pauseBeside(background: boolean): { ended: string[]; endSearch: () => void; all: Promise<unknown> } {
  const ended: string[] = [];
  let endSearch = (): void => undefined;
  const search = beforeOtherWork(new Promise<void>((resolve) => (endSearch = resolve)));
  const pause = createTimeSlices(signal, { background }).pause();
  const all = Promise.all([search.then(() => ended.push("search")), pause.then(() => ended.push("pause"))]);
  return { ended, endSearch, all };
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

test("background work pauses until a search has ended, other work does not, and none for long", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const other = pauseBeside(false);
  await turns();
  expect(other.ended).toEqual(["pause"]);
  other.endSearch();
  await other.all;
  const background = pauseBeside(true);
  await turns();
  expect(background.ended).toEqual([]);
  background.endSearch();
  await background.all;
  expect(background.ended).toEqual(["search", "pause"]);
  const patient = pauseBeside(true);
  await turns();
  await vi.advanceTimersByTimeAsync(1000);
  expect(patient.ended).toEqual(["pause"]);
  patient.endSearch();
  await patient.all;
});
