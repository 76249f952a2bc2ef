import { MemoryError, messageOf } from "@memslot/core";
import { type Output, printable } from "../terminal/output.ts";

export interface DoctorCheck {
  name: string;
  /** `warn`: works with reduced quality. */
  status: "ok" | "warn" | "fail";
  message: string;
  /** What the user can do about it. */
  next?: string | undefined;
}

export function passed(name: string, message: string): DoctorCheck {
  return { name, status: "ok", message };
}

export function warned(name: string, message: string, next?: string): DoctorCheck {
  return { name, status: "warn", message, ...(next === undefined ? {} : { next }) };
}

export function failed(name: string, message: string, next?: string): DoctorCheck {
  return { name, status: "fail", message, ...(next === undefined ? {} : { next }) };
}

/** A failed check, named for the part that the error comes from. */
export function failedBy(error: unknown): DoctorCheck {
  if (MemoryError.is(error, "CONFIG")) return failed("config", messageOf(error));
  if (MemoryError.is(error, "PLUGIN")) return failed("plugin", messageOf(error));
  if (MemoryError.is(error, "WORKSPACE"))
    return failed("workspace", messageOf(error), "Create the folder, or name another one with --workspace DIR.");
  return failed("store", messageOf(error));
}

export function formatCheck({ status, name, message, next }: DoctorCheck, style: Output["style"]): string {
  const colour = { ok: "green", warn: "yellow", fail: "red" } as const;
  const line = `${style(colour[status], status.padEnd(4))} ${name.padEnd(10)} ${printable(message)}`;
  return next === undefined ? line : `${line}\n${" ".repeat(16)}→ ${printable(next)}`;
}
