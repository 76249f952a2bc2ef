import { afterEach, expect, test, vi } from "vitest";
import { createQuestions } from "./questions.ts";

afterEach(() => void vi.useRealTimers());

test("a question is answered by its own answer, whatever the order", async () => {
  const questions = createQuestions<string>(1000);
  const sent: number[] = [];
  const asked = ["one", "two", "three"].map(() => questions.ask((id) => sent.push(id), "late"));
  for (const id of sent.toReversed()) questions.answered(id, `answer ${id}`);
  expect(await Promise.all(asked)).toEqual(sent.map((id) => `answer ${id}`));
});

test("one that is late has the other answer, and nobody waits again until it has come", async () => {
  vi.useFakeTimers();
  const questions = createQuestions<string>(100);
  const sent: number[] = [];
  const ask = (): Promise<string> => questions.ask((id) => sent.push(id), "late");
  const first = ask();
  await vi.advanceTimersByTimeAsync(99);
  expect(sent).toEqual([1]);
  await vi.advanceTimersByTimeAsync(1);
  expect(await first).toBe("late");
  expect(await ask()).toBe("late");
  expect(sent).toEqual([1]);
  questions.answered(1, "too late");
  const second = ask();
  expect(sent).toEqual([1, 2]);
  questions.answered(2, "in time");
  expect(await second).toBe("in time");
});

test("the end answers all that are open", async () => {
  const questions = createQuestions<string>(1000);
  const asked = [questions.ask(() => undefined, "late"), questions.ask(() => undefined, "late")];
  questions.end("over");
  expect(await Promise.all(asked)).toEqual(["over", "over"]);
  const next = questions.ask((id) => questions.answered(id, "again"), "late");
  expect(await next).toBe("again");
});
