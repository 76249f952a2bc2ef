/** What tokens cost, from a dated table. */
export interface EmbeddingPrice {
  usdPerMillionTokens: number;
  /** The same through the batch interface, where it is cheaper. */
  batchUsdPerMillionTokens?: number | undefined;
  /** When it was looked up, `YYYY-MM-DD`. */
  asOf: string;
  /** The page it stands on. */
  source: string;
}
