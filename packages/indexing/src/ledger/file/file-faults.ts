/** The file is somebody else's, or of a later release: it is left alone. */
export class Foreign extends Error {
  /** What the user can do about it, beside naming another file. */
  readonly remedy: string | undefined;

  constructor(message: string, remedy?: string) {
    super(message);
    this.remedy = remedy;
  }
}

/** The file is ours and cannot be relied on: it is set aside and made anew. */
export class Damage extends Error {}

/** Why a file with tables of an earlier release is set aside. Its vectors are kept. */
export const earlierRelease = "it was written by an earlier release";
