import { type HealthState, healthOf } from "@memslot/core";
import { expect, test } from "vitest";
import rows from "./data/health.json" with { type: "json" };

type Facts = Parameters<typeof healthOf>[0];

test.each(
  rows as unknown as { name: string; facts: Partial<Facts>; state: HealthState; reason?: string; action?: string }[],
)("$name: $state", ({ facts, state, reason = "^$", action = "^$" }) => {
  const survey = {
    excluded: { count: 0, notes: [], byConfiguration: 0 },
    notes: 2,
    unsearched: { files: 0, more: false, folders: [] },
  };
  const status = {
    backend: "memory-core",
    provider: "none",
    files: 2,
    chunks: 54,
    workspaceDir: "/notes",
    ...facts.status,
  };
  const health = healthOf({ layout: "all", survey, ...facts, status });
  expect(health.state).toBe(state);
  expect(health.reason ?? "").toMatch(new RegExp(reason, "u"));
  expect(health.action ?? "").toMatch(new RegExp(action, "u"));
});
