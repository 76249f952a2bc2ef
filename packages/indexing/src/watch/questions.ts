/** Questions to somebody who may be slow: each has an answer in time, if need be another one. */
export interface Questions<Answer> {
  /** `send` hands the question over under its number. While one is late, nothing is asked. */
  ask(send: (id: number) => void, late: Answer): Promise<Answer>;
  answered(id: number, answer: Answer): void;
  /** Answers all that are open; nobody else will. */
  end(answer: Answer): void;
}

export function createQuestions<Answer>(withinMs: number): Questions<Answer> {
  const open = new Map<number, (answer: Answer) => void>();
  let last = 0;
  /** The latest one that was not answered in time. */
  let late = 0;
  let answeredUpTo = 0;

  return {
    async ask(send, otherwise) {
      // What was asked before has to come first.
      if (late > answeredUpTo) return otherwise;
      const id = ++last;
      return await new Promise((resolve) => {
        const timer = setTimeout(() => {
          late = id;
          settle(otherwise);
        }, withinMs);
        const settle = (answer: Answer): void => {
          clearTimeout(timer);
          open.delete(id);
          resolve(answer);
        };
        open.set(id, settle);
        send(id);
      });
    },

    answered(id, answer) {
      answeredUpTo = Math.max(answeredUpTo, id);
      open.get(id)?.(answer);
    },

    end(answer) {
      answeredUpTo = last;
      for (const settle of open.values()) settle(answer);
    },
  };
}
