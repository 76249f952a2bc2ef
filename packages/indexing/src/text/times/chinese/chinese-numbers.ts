const digits = "零一二三四五六七八九";

/** A number of one to three figures, and a year, as patterns. */
export const figure = "(?:(?<!\\d)\\d{1,2}(?!\\d)|[一二三四五六七八九十两]{1,3})";
export const yearFigure = "(?:(?<!\\d)(?:1[5-9]|20)\\d{2}|[一二][〇零一二三四五六七八九]{3})";

/** 12, 十二, 二十一, 二〇二四; undefined for what is no number. */
export function chineseNumber(word = ""): number | undefined {
  if (/^\d+$/.test(word)) return Number(word);
  const plain = word.replaceAll("〇", "零").replaceAll("两", "二");
  const tens = /^([一二三四五六七八九]?)十([一二三四五六七八九]?)$/.exec(plain);
  if (tens)
    return (
      10 * (tens[1] === "" ? 1 : digits.indexOf(tens[1] ?? "")) + (tens[2] === "" ? 0 : digits.indexOf(tens[2] ?? ""))
    );
  const values = [...plain].map((character) => digits.indexOf(character));
  if (values.length === 0 || values.includes(-1) || (values.length > 1 && values.length < 4)) return undefined;
  return values.reduce((sum, value) => 10 * sum + value, 0);
}
