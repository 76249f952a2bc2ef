import { type TracingChannel, tracingChannel } from "node:diagnostics_channel";
import type {
  CallMessages,
  ChannelName,
  EmbeddingMessage,
  ProviderMessage,
  SearchMessage,
  StoreMessage,
  SyncMessage,
} from "./messages.ts";

/**
 * Tracing channels of `node:diagnostics_channel`, which are the same for every copy of this package in a process. A call is
 * told at `tracing:memslot:<name>:start` and, once, when its promise settles, at `tracing:memslot:<name>:asyncEnd`; at
 * `:error` before that where it was not `ok`.
 */
export const channels: { readonly [Name in ChannelName]: TracingChannel<unknown, CallMessages[Name]> } = {
  search: tracingChannel<unknown, SearchMessage>("memslot:search"),
  sync: tracingChannel<unknown, SyncMessage>("memslot:sync"),
  embedding: tracingChannel<unknown, EmbeddingMessage>("memslot:embedding"),
  store: tracingChannel<unknown, StoreMessage>("memslot:store"),
  provider: tracingChannel<unknown, ProviderMessage>("memslot:provider"),
};

export const channelNames: readonly ChannelName[] = ["search", "sync", "embedding", "store", "provider"];
