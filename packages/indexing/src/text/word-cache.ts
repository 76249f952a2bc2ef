const slots = 1 << 17;
const maxWords = 50_000;
/** Maximum probes per word: bounds the cost of collisions. */
const maxProbes = 8;

/** Adds a UTF-16 unit to the hash of the ones before it (as in `String.hashCode` of Java). */
export function addToHash(hash: number, unit: number): number {
  return (Math.imul(hash, 31) + unit) | 0;
}

/** Cache of word results, looked up by position in a text without extracting the word. */
export class WordCache {
  readonly #slots = new Uint32Array(slots);
  readonly #hashes = new Int32Array(maxWords);
  #words: string[] = [];
  #values: string[] = [];

  get(text: string, start: number, end: number, hash: number): string | undefined {
    for (let probe = 0, slot = spread(hash); probe < maxProbes; probe++, slot = (slot + 1) & (slots - 1)) {
      const entry = (this.#slots[slot] as number) - 1;
      if (entry < 0) return undefined;
      if (this.#hashes[entry] === hash && isAt(this.#words[entry] as string, text, start, end))
        return this.#values[entry];
    }
    return undefined;
  }

  set(word: string, hash: number, value: string): void {
    if (this.#words.length >= maxWords) this.#clear();
    for (let probe = 0, slot = spread(hash); probe < maxProbes; probe++, slot = (slot + 1) & (slots - 1)) {
      if (this.#slots[slot] !== 0) continue;
      this.#hashes[this.#words.length] = hash;
      this.#slots[slot] = this.#words.push(word);
      this.#values.push(value);
      return;
    }
  }

  #clear(): void {
    this.#slots.fill(0);
    this.#words = [];
    this.#values = [];
  }
}

function spread(hash: number): number {
  return Math.imul(hash, 0x9e37_79b1) >>> 15;
}

function isAt(word: string, text: string, start: number, end: number): boolean {
  if (word.length !== end - start) return false;
  for (let index = 0; index < word.length; index++)
    if (word.charCodeAt(index) !== text.charCodeAt(start + index)) return false;
  return true;
}

export function remembered<Value>(find: (key: string) => Value, most = 5000): (key: string) => Value {
  const known = new Map<string, Value>();
  return (key) => {
    const value = known.get(key);
    if (value !== undefined || known.has(key)) return value as Value;
    if (known.size >= most) known.clear();
    const found = find(key);
    known.set(key, found);
    return found;
  };
}
