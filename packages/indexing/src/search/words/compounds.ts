/** Letters that hold the parts of a compound together in German and its neighbours. */
const links = ["", "s", "n", "en", "es", "er", "e"];
const minPart = 3;

/** The words that two neighbours of a question may be one word of. `isLinked`: in a language that joins them in either order. */
export function joinedWords(first: string, second: string, isLinked: boolean): string[] {
  if (first.length + second.length <= minPart) return [];
  if (!isLinked || first.length < minPart || second.length < minPart) return [first + second];
  return links.flatMap((link) => [first + link + second, second + link + first]);
}

/** The pairs of words that a compound may be made of, without what holds them together. */
export function splitWord(word: string, isLinked: boolean): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = minPart; at + minPart <= word.length; at++) {
    const [head, tail] = [word.slice(0, at), word.slice(at)];
    for (const link of isLinked ? links : [""]) {
      if (head.endsWith(link) && head.length - link.length >= minPart)
        pairs.push([head.slice(0, head.length - link.length), tail]);
    }
  }
  return pairs;
}
