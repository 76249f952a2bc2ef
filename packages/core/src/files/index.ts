export { codeOf, unlessMissing } from "./error-code.ts";
export {
  type FolderInPlace,
  MovedError,
  NotDownloadedError,
  cloudStub,
  listInPlace,
  noSurprises,
  openFolderInPlace,
  openInPlace,
} from "./in-place.ts";
export { type ChosenLayout, type NotesLayout, isTooWide, notesLayout, notesMark } from "./notes-layout.ts";
export { type LockHolder, type LockOptions, type ProcessLock, acquireLock } from "./process-lock.ts";
export { replaceFile, replaceFileSync, syncFolder } from "./replace-file.ts";
