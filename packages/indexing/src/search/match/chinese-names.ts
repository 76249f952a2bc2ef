import { lazily } from "@memslot/core";

/** The commonest family names, without those that are as often a word of their own (钱, 马, 方, 高). */
const familyNames = new Set(
  "王李张張刘劉陈陳杨楊赵趙吴吳周徐孙孫胡朱郭何林罗羅郑鄭梁谢謝宋唐许許邓鄧冯馮韩韓曹彭萧蕭蔡潘袁蒋蔣杜苏蘇魏程吕呂沈卢盧崔谭譚廖范汪陆陸贾賈韦韋邹鄒孟秦邱侯尹薛闫阎閻郝龚龔邵赖賴覃",
);
/** Those that are as often a word: a name only with a title behind them. */
const otherFamilyNames = new Set("黄黃高马馬方任何石金钱錢江白常安于成姜田夏叶葉余余丁万萬段毛付曾温溫龙龍");
const doubleNames = new Set(["欧阳", "歐陽", "司马", "司馬", "上官", "诸葛", "諸葛", "司徒", "慕容", "令狐", "皇甫"]);
const titles =
  /^(?:先生|女士|小姐|太太|夫人|老师|老師|医生|醫生|大夫|经理|經理|总|總|教授|博士|律师|律師|主任|师傅|師傅|同学|同學|阿姨|叔叔|奶奶|爷爷|爺爺|哥|姐|工)$/u;
/** What stands behind a name and is no part of one. */
const noGivenName =
  /^[坐住喜爱愛吃喝买買卖賣去来來做写寫读讀学學用打开開放看听聽找叫拿带帶管负負煮的是在有和与與跟同给給对對把被让讓向从從到说說吗嗎呢了吧啊几幾谁誰什怎哪多会會能可要想也都还還就不没沒年月日时時一二三四五六七八九十天号號家人]/u;

const numbered = /[一二两兩三四五六七八九十几幾这這那每多半\d]$/u;

export interface ChineseName {
  name: string;
  /** The characters that tell it from others: what is behind them may belong to the next word. */
  pairs: readonly string[];
}

const segmenter = lazily(() => new Intl.Segmenter("zh", { granularity: "word" }));

/**
 * The names of people in a Chinese question, where nothing sets them apart in writing: a family name with what no word is
 * made of behind it (`王|芳`, `李|小龙`), or with a title (`陈医生`), or with 老, 小 or 阿 before it.
 */
export function chineseNames(query: string): ChineseName[] {
  if (!/\p{Script=Han}/u.test(query)) return [];
  const words = [...segmenter().segment(query)].map(({ segment }) => segment);
  const names: ChineseName[] = [];
  for (let at = 0; at < words.length; at++) {
    const [before, word, next] = [words[at - 1] ?? "", words[at] ?? "", words[at + 1] ?? ""];
    // 两张门票, 第三周: a measure word.
    if (numbered.test(before)) continue;
    const isDouble = doubleNames.has(word);
    const isFamily = familyNames.has(word) || isDouble;
    const given = isFamily ? givenName(next, words[at + 2] ?? "") : "";
    if ((isFamily || otherFamilyNames.has(word)) && titles.test(next)) names.push(nameOf(word + next, isDouble));
    else if (given !== "") names.push(nameOf(word + given, isDouble));
    else if (/^[老小阿]\p{Script=Han}$/u.test(word) && familyNames.has(word.slice(1))) names.push(nameOf(word, false));
    else if (/^[老小阿]$/u.test(word) && familyNames.has(next)) names.push(nameOf(word + next, false));
  }
  return names;
}

function nameOf(name: string, isDouble: boolean): ChineseName {
  const pairs = isDouble ? [name.slice(0, 2), name.slice(1, 3)] : [name.slice(0, 2)];
  return { name, pairs };
}

/** What stands behind a family name and is no word, without what does not belong to it: 芳和 is 芳. */
function givenName(first: string, second: string): string {
  if (!/^\p{Script=Han}{1,2}$/u.test(first) || noGivenName.test(first)) return "";
  if (first.length === 2) return noGivenName.test(first.slice(1)) ? first.slice(0, 1) : first;
  const isLonger = /^\p{Script=Han}$/u.test(second) && !noGivenName.test(second);
  return first + (isLonger ? second : "");
}
