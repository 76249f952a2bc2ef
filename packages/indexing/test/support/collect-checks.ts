/** For tests with many random cases: the notes of those that are wrong, to be compared with an empty list at the end. */
export function collectChecks(): { wrong: string[]; check: (ok: boolean, note: string) => void } {
  const wrong: string[] = [];
  return {
    wrong,
    check(ok, note) {
      if (!ok) wrong.push(note);
    },
  };
}
