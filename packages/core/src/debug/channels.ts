import table from "./channels.json" with { type: "json" };
import { type TracingChannel, tracingChannel } from "node:diagnostics_channel";
import type { CallMessages, ChannelName } from "./messages.ts";

/** What a printed line shows besides outcome and time, in this order. What a listener adds to a message is not among it. */
export const channelFields: Readonly<Record<ChannelName, readonly string[]>> = table;

export const channelNames: readonly ChannelName[] = Object.keys(table) as ChannelName[];

/**
 * Tracing channels of `node:diagnostics_channel`, which are the same for every copy of this package in a process. A call is
 * told at `tracing:memslot:<name>:start` and, once, when its promise settles, at `tracing:memslot:<name>:asyncEnd`; at
 * `:error` before that where it was not `ok`.
 */
export const channels: { readonly [Name in ChannelName]: TracingChannel<unknown, CallMessages[Name]> } =
  Object.fromEntries(channelNames.map((name) => [name, tracingChannel(`memslot:${name}`)])) as typeof channels;
