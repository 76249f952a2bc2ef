import { lazily } from "@memslot/core";

/** The commonest family names, without those that are as often a word of their own (钱, 马, 方, 高). */
const familyNames = new Set(
  "王李张張刘劉陈陳杨楊赵趙吴吳周徐孙孫胡朱郭何林罗羅郑鄭梁谢謝宋唐许許邓鄧冯馮韩韓曹彭萧蕭蔡潘袁蒋蔣杜苏蘇魏程吕呂沈卢盧姜崔谭譚廖范汪陆陸贾賈韦韋邹鄒孟秦邱侯尹薛闫阎閻郝龚龔邵赖賴覃",
);
const doubleNames = new Set(["欧阳", "歐陽", "司马", "司馬", "上官", "诸葛", "諸葛", "司徒", "慕容", "令狐", "皇甫"]);
const titles =
  /^(?:先生|女士|小姐|太太|夫人|老师|老師|医生|醫生|大夫|经理|經理|总|總|教授|博士|律师|律師|主任|师傅|師傅|同学|同學|阿姨|叔叔|奶奶|爷爷|爺爺|哥|姐|工)$/u;
/** What stands behind a name and is no part of one. */
const noGivenName =
  /^[的是在有和与與跟同给給对對把被让讓向从從到说說吗嗎呢了吧啊几幾谁誰什怎哪多会會能可要想也都还還就不没沒年月日时時一二三四五六七八九十天号號家人]/u;

const segmenter = lazily(() => new Intl.Segmenter("zh", { granularity: "word" }));

/**
 * The names of people in a Chinese question, where nothing sets them apart in writing: a family name with what no word is
 * made of behind it (`王|芳`, `李|小龙`), or with a title (`陈医生`), or with 老, 小 or 阿 before it.
 */
export function chineseNames(query: string): string[] {
  if (!/\p{Script=Han}/u.test(query)) return [];
  const words = [...segmenter().segment(query)].map(({ segment }) => segment);
  const names: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    const next = words[at + 1] ?? "";
    const isFamily = familyNames.has(word) || doubleNames.has(word);
    if (isFamily && titles.test(next)) names.push(word + next);
    else if (isFamily) names.push(...withGivenName(word, next, words[at + 2] ?? ""));
    else if (/^[老小阿]\p{Script=Han}$/u.test(word) && familyNames.has(word.slice(1))) names.push(word);
    else if (/^[老小阿]$/u.test(word) && familyNames.has(next)) names.push(word + next);
  }
  return [...new Set(names)];
}

function withGivenName(family: string, first: string, second: string): string[] {
  if (!/^\p{Script=Han}{1,2}$/u.test(first) || noGivenName.test(first)) return [];
  const isLonger = first.length === 1 && /^\p{Script=Han}$/u.test(second) && !noGivenName.test(second);
  return [family + first + (isLonger ? second : "")];
}
