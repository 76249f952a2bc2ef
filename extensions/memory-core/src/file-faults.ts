/** The file is somebody else's, or of a later release: it is left alone. */
export class Foreign extends Error {}

/** The file is ours and cannot be relied on: it is set aside and made anew. */
export class Damage extends Error {}
