/** What becomes of a batch job. */
export interface JobBehaviour {
  /**
   * `done` if left out. `partial`: every third text fails with an error of its own. `failed`: the whole job, with no
   * result. `expired`: half of the texts were done when the time was up (OpenAI), or none (Gemini).
   */
  outcome?: JobOutcome | undefined;
  /** Milliseconds that a job takes. */
  ms?: number | undefined;
}

export type JobOutcome = "done" | "failed" | "expired" | "partial";

/** When a job ends, and how. */
export interface JobFate {
  readonly outcome: JobOutcome;
  readonly createdAt: number;
  isOver(): boolean;
}

/** Gives each job its fate at the moment when it is submitted. */
export interface JobClock {
  set(behaviour: JobBehaviour): void;
  start(): JobFate;
}

export function createJobClock(jobMs: number): JobClock {
  let outcome: JobOutcome = "done";
  let ms = jobMs;
  return {
    set(behaviour) {
      outcome = behaviour.outcome ?? "done";
      ms = behaviour.ms ?? jobMs;
    },
    start() {
      const createdAt = Date.now();
      const endsAt = createdAt + ms;
      return { outcome, createdAt, isOver: () => Date.now() >= endsAt };
    },
  };
}

/** True for the texts that fail in a job that goes well only in part. */
export function failsInPart(outcome: JobOutcome, index: number): boolean {
  return outcome === "partial" && index % 3 === 2;
}
