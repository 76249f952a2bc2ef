import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { redactText } from "../config/keys.ts";
import { type Environment, variable } from "../config/paths.ts";
import { visibleName } from "../text/visible-text.ts";
import { channelFields, channelNames } from "./channels.ts";
import type { CallMessages, ChannelName } from "./messages.ts";

/** One for each channel and always the same, so that it is known again by whoever takes it off. */
const printers = channelNames.map((name) => ({
  name,
  channel: `tracing:memslot:${name}:asyncEnd`,
  print: (message: unknown) => toStderr(lineOf(name, message as CallMessages[ChannelName])),
}));

/**
 * Has each call of the channels that `MEMSLOT_DEBUG` names printed to stderr, a line when it ends; `*` names all. Called
 * again it does what the variable says then, and nothing is printed twice. `notify` takes one line about names that are
 * none.
 */
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
  const verb = unknown.length === 1 ? "is no channel" : "are no channels";
  notify(
    `MEMSLOT_DEBUG: ${unknown.join(", ")} ${verb}; known are ${channelNames.join(", ")}, and * for all, with commas between them`,
  );
}

/** `memslot:search ok 12.3 ms agentId=main …`. A value with a space in it stands in quotes. */
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

/** Names of models, plugins and reasons are written by others: what looks like a key in them is not printed. */
function shown(text: string): string {
  return visibleName(redactText(text));
}

function toStderr(line: string): void {
  try {
    process.stderr.write(`${line}\n`);
  } catch {
    // Here an error would be one of the process, and not of the call that is told of.
  }
}

/** Whoever reads stderr no longer has lost these lines and nothing else: without a listener it would end the process. */
function ignore(): void {}
