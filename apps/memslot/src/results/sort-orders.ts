/** The values of `--sort`. */
export const sortOrders = ["relevance", "path", "newest", "oldest"] as const;
export type SortOrder = (typeof sortOrders)[number];
