import type { CompactionSettings } from "@memslot/core";

/** What a host knows about a conversation after a turn. Tokens and bytes are whole numbers from 0. */
export interface FlushState {
  /** Tokens that the next request would have. */
  readonly contextTokens: number;
  /** What the model takes; 0 where it is not known, and then tokens decide nothing. */
  readonly contextWindowTokens: number;
  /** By how much the transcript has grown since the last compaction. */
  readonly bytesSinceCompaction?: number | undefined;
  /** How often the session was compacted. */
  readonly compactionCount: number;
  /** The `compactionCount` at which the last flush ran; undefined before the first one. */
  readonly memoryFlushCompactionCount?: number | undefined;
}

/** Whether to flush, and why or why not, in words for a person. */
export interface FlushDecision {
  readonly flush: boolean;
  readonly reason: string;
}

/**
 * Whether a flush is due: once in each compaction cycle, as soon as the context reaches the window less
 * `reserveTokensFloor` and less `softThresholdTokens`, or the transcript has grown by `forceFlushTranscriptBytes`.
 *
 * The two figures are made for large windows. Where they come to more than half of the window (a local model with 8,192
 * tokens), both are scaled down in proportion, so that together they are half of it: a flush is then due at half.
 */
export function shouldFlush(state: FlushState, settings: CompactionSettings): FlushDecision {
  const { enabled, forceFlushTranscriptBytes } = settings.memoryFlush;
  if (!enabled) return no("off: compaction.memoryFlush.enabled is false");
  if (state.memoryFlushCompactionCount === state.compactionCount)
    return no(`already flushed in this cycle (after compaction ${state.compactionCount})`);
  const bytes = state.bytesSinceCompaction ?? 0;
  if (forceFlushTranscriptBytes > 0 && bytes >= forceFlushTranscriptBytes)
    return yes(
      `the transcript has grown by ${count(bytes)} bytes since the last compaction; forced from ${count(forceFlushTranscriptBytes)}`,
    );
  if (!(state.contextWindowTokens > 0)) return no("the size of the context window is not known");
  const { threshold, reserve, soft } = thresholdOf(state.contextWindowTokens, settings);
  const figures = `${count(state.contextTokens)} tokens, due from ${count(threshold)} (window ${count(state.contextWindowTokens)} − ${count(reserve)} kept free − ${count(soft)} before that)`;
  return state.contextTokens >= threshold ? yes(figures) : no(figures);
}

function thresholdOf(
  window: number,
  settings: CompactionSettings,
): { threshold: number; reserve: number; soft: number } {
  const wanted = settings.reserveTokensFloor + settings.memoryFlush.softThresholdTokens;
  const total = Math.min(wanted, Math.floor(window / 2));
  const reserve = wanted === 0 ? 0 : Math.round((settings.reserveTokensFloor / wanted) * total);
  return { threshold: window - total, reserve, soft: total - reserve };
}

function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

const yes = (reason: string): FlushDecision => ({ flush: true, reason });
const no = (reason: string): FlushDecision => ({ flush: false, reason });
