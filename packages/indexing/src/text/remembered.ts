/** A pure function of a text that keeps its last values: a cache changes no answer, only how fast it comes. */
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
