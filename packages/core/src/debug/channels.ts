import table from "./channels.json" with { type: "json" };
import { type TracingChannel, tracingChannel } from "node:diagnostics_channel";
import type { CallMessages, ChannelName } from "./messages.ts";

/** Fields of a printed line after outcome and time, in this order. Fields added by a listener are not printed. */
export const channelFields: Readonly<Record<ChannelName, readonly string[]>> = table;

export const channelNames: readonly ChannelName[] = Object.keys(table) as ChannelName[];

/** Tracing channels `tracing:memslot:<name>:start`, `:asyncEnd` and `:error`, shared by all copies of the package. */
export const channels: { readonly [Name in ChannelName]: TracingChannel<unknown, CallMessages[Name]> } =
  Object.fromEntries(channelNames.map((name) => [name, tracingChannel(`memslot:${name}`)])) as typeof channels;
