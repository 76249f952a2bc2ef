/** The shells that completion is there for. */
export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];
