/** When a hook shows notes that fit a prompt: never, where they answer it, or whatever was found. */
export const recallModes = ["off", "strong", "always"] as const;
export type RecallMode = (typeof recallModes)[number];
