/** Collects the best scores, up to a limit: higher scores first, then lower ids. */
export interface BestSlots {
  floor(): number;
  add(id: number, score: number): void;
  ids(): number[];
}

export function createBestSlots(limit: number): BestSlots {
  const ids: number[] = [];
  const scores: number[] = [];
  let floor = Number.NEGATIVE_INFINITY;

  function isWorse(left: number, right: number): boolean {
    const difference = (scores[left] as number) - (scores[right] as number);
    return difference < 0 || (difference === 0 && (ids[left] as number) > (ids[right] as number));
  }

  function swap(left: number, right: number): void {
    [ids[left], ids[right]] = [ids[right] as number, ids[left] as number];
    [scores[left], scores[right]] = [scores[right] as number, scores[left] as number];
  }

  function rise(from: number): void {
    for (let at = from; at > 0;) {
      const parent = (at - 1) >> 1;
      if (!isWorse(at, parent)) return;
      swap(at, parent);
      at = parent;
    }
  }

  function sink(): void {
    for (let at = 0; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let worst = at;
      if (left < ids.length && isWorse(left, worst)) worst = left;
      if (right < ids.length && isWorse(right, worst)) worst = right;
      if (worst === at) return;
      swap(at, worst);
      at = worst;
    }
  }

  return {
    floor: () => floor,
    add(id, score) {
      if (ids.length < limit) {
        ids.push(id);
        scores.push(score);
        rise(ids.length - 1);
      } else {
        const isBetter = score > floor || (score === floor && id < (ids[0] as number));
        if (!isBetter) return;
        ids[0] = id;
        scores[0] = score;
        sink();
      }
      if (ids.length === limit) floor = scores[0] as number;
    },
    ids: () =>
      ids
        .map((id, index) => ({ id, score: scores[index] as number }))
        .toSorted((left, right) => right.score - left.score || left.id - right.id)
        .map(({ id }) => id),
  };
}
