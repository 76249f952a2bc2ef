import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { redactText } from "../config/keys.ts";
import { type Environment, variable } from "../config/paths.ts";
import { visibleName } from "../text/visible-text.ts";
import { channelFields, channelNames } from "./channels.ts";
import type { CallMessages, ChannelName } from "./messages.ts";

const printers = channelNames.map((name) => ({
  name,
  channel: `tracing:memslot:${name}:asyncEnd`,
  print: (message: unknown) => toStderr(lineOf(name, message as CallMessages[ChannelName])),
}));

/** Prints each call of the channels in `MEMSLOT_DEBUG` to stderr (`*`: all). `notify` reports unknown names. */
export function printCalls(env: Environment, notify: (line: string) => void): void {
  const wanted = new Set((variable(env, "MEMSLOT_DEBUG") ?? "").split(/[\s,]+/u).filter((name) => name !== ""));
  for (const { name, channel, print } of printers) {
    unsubscribe(channel, print);
    if (!wanted.has("*") && !wanted.has(name)) continue;
    process.stderr.off("error", ignore).on("error", ignore);
    subscribe(channel, print);
  }
  const known: readonly string[] = ["*", ...channelNames];
  const unknown = [...wanted].filter((name) => !known.includes(name)).map((name) => `"${shown(name)}"`);
  if (unknown.length === 0) return;
  const verb = unknown.length === 1 ? "is not a channel" : "are not channels";
  notify(
    `MEMSLOT_DEBUG: ${unknown.join(", ")} ${verb}; known are ${channelNames.join(", ")}, and * for all, with commas between them`,
  );
}

export function lineOf<Name extends ChannelName>(name: Name, message: CallMessages[Name]): string {
  const { outcome, errorCode, tookMs } = message;
  const ended = [outcome, errorCode].filter((word) => word !== undefined).join(" ");
  const facts = channelFields[name].flatMap((field) => {
    const value: unknown = Reflect.get(message, field);
    return value === undefined ? [] : [`${field}=${valueText(value)}`];
  });
  return [`memslot:${name} ${ended}`, `${(tookMs ?? 0).toFixed(1)} ms`, ...facts].join(" ");
}

function valueText(value: unknown): string {
  const text = shown(Array.isArray(value) ? value.join(",") : String(value));
  return /[\s"=]|^$/u.test(text) ? `"${text.replaceAll('"', String.raw`\"`)}"` : text;
}

/** Redacts text that looks like a key: names and reasons come from plugins and users. */
function shown(text: string): string {
  return visibleName(redactText(text));
}

function toStderr(line: string): void {
  try {
    process.stderr.write(`${line}\n`);
  } catch {
    // An error here would end the process instead of the call.
  }
}

/** A closed stderr loses these lines; without this listener it would end the process. */
function ignore(): void {}
