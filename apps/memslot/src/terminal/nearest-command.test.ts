import { describe, expect, test } from "vitest";
import { nearestCommand } from "./nearest-command.ts";

const known = [
  "init",
  "memory",
  "memory search",
  "memory status",
  "memory index",
  "memory get",
  "config",
  "trust",
  "doctor",
];

describe("the nearest command", () => {
  test("is found through a slip of the finger", () => {
    expect(nearestCommand("memmory", known)).toBe("memory");
    expect(nearestCommand("docotr", known)).toBe("doctor");
    expect(nearestCommand("serach", known)).toBe("memory search");
  });

  test("is the longer command when only its last word was typed", () => {
    expect(nearestCommand("search", known)).toBe("memory search");
  });

  test("is none for a word that is like nothing", () => {
    expect(nearestCommand("xylophone", known)).toBeUndefined();
  });
});
