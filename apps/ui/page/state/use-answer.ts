import { useEffect, useState } from "preact/hooks";
import { AskError, ask } from "./ask.ts";
import { told } from "./session.ts";

export interface Answer<T> {
  /** The last answer, which stays during a reload. */
  data: T | undefined;
  error: AskError | undefined;
  loading: boolean;
}

/** The answer at `path`, reloaded when `path` or `revision` changes; `undefined`: no request. */
export function useAnswer<T>(path: string | undefined, revision: unknown = 0): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T>>({ data: undefined, error: undefined, loading: path !== undefined });
  useEffect(() => {
    if (path === undefined) {
      setAnswer({ data: undefined, error: undefined, loading: false });
      return undefined;
    }
    const controller = new AbortController();
    setAnswer((before) => ({ ...before, loading: true }));
    ask<T>(path, { signal: controller.signal }).then(
      (data) => setAnswer({ data, error: undefined, loading: false }),
      (error: unknown) => {
        if (controller.signal.aborted) return;
        told(error);
        const known = error instanceof AskError ? error : new AskError(0, "INTERNAL", String(error));
        setAnswer((before) => ({ ...before, error: known, loading: false }));
      },
    );
    return () => controller.abort();
  }, [path, revision]);
  return answer;
}
