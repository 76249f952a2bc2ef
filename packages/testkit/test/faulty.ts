/**
 * What a call does wrong. `for`, `since`, `until` and `during` say when, as patterns: of its arguments as JSON, of the
 * calls so far, a line each, and of a running call. The others change values at paths: `0.limit` of the arguments,
 * `answer.rows.*.score` of the answer.
 */
interface Fault {
  for?: string;
  since?: string;
  until?: string;
  during?: string;
  throws?: string;
  /** In place of the call; `null` for nothing. */
  answers?: unknown;
  /** In place of the call: the number of calls so far that match. */
  counts?: string;
  /** Answers as at the first call with these arguments. */
  cached?: boolean;
  /** Uses the arguments of the latest of overlapping calls. */
  mixed?: boolean;
  [change: string]: unknown;
}

/** By the name of the call; `build.finish` is a call of each object that `build` returns. */
export type Faults = Readonly<Record<string, Fault>>;

type Call = (...given: unknown[]) => unknown;
type Items = Record<string, unknown>[];

const changes: Readonly<Record<string, (value: never, by: never, seen: Set<unknown>) => unknown>> = {
  set: (_: unknown, by: unknown) => by ?? undefined,
  plus: (value: number, by: number) => value + by,
  times: (value: number, by: number) => value * by,
  first: (items: Items, count: number) => items.slice(0, count),
  skip: (items: Items, count: number) => items.slice(count),
  reverse: (items: Items) => items.toReversed(),
  unique: (items: Items, key: string) =>
    [...new Map(items.toReversed().map((item) => [key === "" ? item : item[key], item])).values()].toReversed(),
  last: (items: Items, key: string) => [...new Map(items.map((item) => [item[key], item])).values()],
  once: (items: Items, key: string, seen) => items.filter((item) => !seen.has(item[key]) && seen.add(item[key])),
  /** Items that were in an earlier answer are in each later one. */
  remember: (items: Items, key: string, seen) => {
    const known = new Map([...(seen as Set<Items[number]>), ...items].map((item) => [item[key], item]));
    seen.clear();
    for (const item of known.values()) seen.add(item);
    return [...known.values()];
  },
  drop: (items: Items, pattern: string) => items.filter((item) => !new RegExp(pattern).test(JSON.stringify(item))),
  replace: (text: string, [pattern, by]: [string, string]) => text.replaceAll(new RegExp(pattern, "gu"), by),
  lower: (text: string) => text.toLowerCase(),
  halve: (text: string) => `${text}\ud83d`,
  detach: () => new AbortController().signal,
  mute: () => () => undefined,
};

/** The calls of a right implementation with the faults. */
export function faulty<Right extends object>(right: Right, faults: Faults): Right {
  const log: string[] = [];
  const running = new Set<string>();
  const wrap = (object: object, prefix: string): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(object).map(([key, value]) => {
        const name = prefix + key;
        if (typeof value !== "function") return [key, faults[name]?.answers ?? value];
        const call = spoilt(name, value as Call, faults[name]);
        return [key, name === "build" ? opening(call) : call];
      }),
    );
  const opening =
    (build: Call): Call =>
    async (...given) =>
      wrap((await build(...given)) as object, "build.");

  function spoilt(name: string, call: Call, fault: Fault | undefined): Call {
    const [seen, answers] = [new Set<unknown>(), new Map<string, unknown>()];
    let latest: unknown[] = [];
    const slow = Object.values(faults).some(({ during }) => during === name);
    const change = (value: object): unknown =>
      Object.entries(changes).reduce((changed, [what, how]) => {
        const paths = Object.entries((fault?.[what] ?? {}) as Record<string, unknown>);
        const own = paths.filter(([path]) => (path.split(".")[0] ?? "") in value);
        return own.reduce(
          (now, [path, by]) => at(now, path.split("."), (old) => how(old as never, by as never, seen)),
          changed,
        );
      }, value as unknown);
    const run = (given: unknown[]): unknown => {
      const { given: changed } = change({ given }) as { given: unknown[] };
      const answered = (answer: unknown): unknown => (change({ answer }) as { answer: unknown }).answer;
      const answer = call(...changed);
      return answer instanceof Promise ? answer.then(answered) : answered(answer);
    };
    const wrong = async (given: unknown[]): Promise<unknown> => {
      if (fault?.throws !== undefined) throw new Error(fault.throws);
      if (fault?.counts !== undefined)
        return String(log.filter((line) => new RegExp(fault.counts ?? "").test(line)).length);
      if (fault && "answers" in fault) return structuredClone(fault.answers) ?? undefined;
      latest = given;
      if (fault?.mixed === true) await Promise.resolve();
      const key = JSON.stringify(given);
      if (fault?.cached !== true) return await run(fault?.mixed === true ? latest : given);
      if (!answers.has(key)) answers.set(key, await run(given));
      return answers.get(key);
    };
    return (...given) => {
      const text = JSON.stringify(given);
      const past = log.join("\n");
      log.push(`${name} ${text}`);
      const when = { for: text, since: past, during: [...running].join() };
      const applies =
        fault !== undefined &&
        Object.entries(when).every(
          ([key, value]) => fault[key] === undefined || new RegExp(String(fault[key])).test(value),
        ) &&
        (fault.until === undefined || !new RegExp(fault.until).test(past));
      if (slow) return slowly(name, () => call(...given));
      if (!applies) return call(...given);
      if (name !== "status") return wrong(given);
      if (fault.throws !== undefined) throw new Error(fault.throws);
      return run(given);
    };
  }

  async function slowly(name: string, run: () => unknown): Promise<unknown> {
    running.add(name);
    for (let turn = 0; turn < 3; turn++) await new Promise<void>((done) => setImmediate(done));
    try {
      return await run();
    } finally {
      running.delete(name);
    }
  }
  return wrap(right, "") as Right;
}

/** A value with another one at a path; `*`: each item. A path whose parent is missing changes nothing. */
function at(value: unknown, [name, ...rest]: string[], change: (old: unknown) => unknown): unknown {
  if (name === undefined) return change(value);
  if (typeof value !== "object" || value === null) return value;
  if (name === "*") return (value as unknown[]).map((each) => at(each, rest, change));
  const copy = (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>;
  if (name in copy) copy[name] = at(copy[name], rest, change);
  return copy;
}

type FaultTables = Readonly<Record<string, Readonly<Record<string, Faults>>>>;

/** One row for each fault: the check that has to notice it, its name, and the calls that it changes. */
export function rowsOf(tables: object): [id: string, fault: string, wrong: Faults][] {
  return Object.entries(tables as FaultTables).flatMap(([id, faults]) =>
    Object.entries(faults).map(([fault, wrong]): [string, string, Faults] => [id, fault, wrong]),
  );
}
