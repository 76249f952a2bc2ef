/** One thing that a user says, as a person says it, with what it can be known by afterwards. */
export interface Fact {
  readonly said: string;
  /** Stands in nothing else that is said: a name or a number. */
  readonly mark: string;
  /** What somebody asks who wants to know it again. */
  readonly question: string;
  /** The fact as a note, in several wordings. */
  readonly notes: readonly string[];
}

type Kind = (index: number) => Fact;

const names = "Ada Bruno Clara Dieter Elif Farid Greta Hugo Ines Jonas Kaya Liam Mira Nadia Otto Paula".split(" ");
const families = "Okafor Brandt Meyer Silva Novak Haas Tanaka Costa Lindqvist Moreau Petrov Walsh".split(" ");
const months = "January February March April May June July August September October November December".split(" ");
const surnames = [..."王李张刘陈杨赵黄周吴徐孙"];
const givenNames = [..."岚澈琳钧蕾骁颖昊楠琪峻瑶烨霖"];

const pick = <T>(list: readonly T[], index: number): T => list[index % list.length] as T;
/** No two of an index up to some hundreds are the same. */
const person = (index: number): string =>
  `${pick(names, index)} ${pick(families, Math.floor(index / names.length) + index)}`;
const figure = (index: number): string => String(20_411 + index * 137);

const kinds: readonly Kind[] = [
  (index) => {
    const [who, day] = [person(index), `${(index % 27) + 1} ${pick(months, index)}`];
    return {
      said: `Oh, before I forget: ${who}'s birthday is on ${day}.`,
      mark: who,
      question: `When is the birthday of ${who}?`,
      notes: [`${who}'s birthday is on ${day}.`, `Birthday of ${who}: ${day}`, `${day} is the birthday of ${who}.`],
    };
  },
  (index) => {
    const price = figure(index);
    const what = pick(["kitchen", "heat pump", "roof", "van", "piano", "solar panels"], index);
    return {
      said: `We decided on the ${what} after all, it costs ${price} euros and that is final.`,
      mark: price,
      question: `How much is the ${what} for ${price} euros?`,
      notes: [
        `Decided: the ${what}, for ${price} euros.`,
        `The user decided on the ${what}, which costs ${price} euros.`,
        `Final decision on the ${what}: price ${price} euros`,
      ],
    };
  },
  (index) => {
    const who = person(index);
    return {
      said: `${who} is allergic to peanuts, so no satay when she visits.`,
      mark: who,
      question: `What is ${who} allergic to?`,
      notes: [
        `${who} is allergic to peanuts; no satay when she visits.`,
        `Allergic to peanuts: ${who} (no satay when she visits)`,
        `No satay when ${who} visits: she is allergic to peanuts.`,
      ],
    };
  },
  (index) => {
    const invoice = `RG-${figure(index)}`;
    return {
      said: `The invoice ${invoice} from the plumber has to be paid by the end of the month.`,
      mark: invoice,
      question: `What about invoice ${invoice}?`,
      notes: [
        `Invoice ${invoice} from the plumber has to be paid by the end of the month.`,
        `To be paid by the end of the month: the plumber's invoice ${invoice}`,
        `The plumber's invoice ${invoice} has to be paid by the month's end.`,
      ],
    };
  },
  (index) => {
    const who = `${pick(surnames, index)}${pick(givenNames, index)}${pick(givenNames, Math.floor(index / 3) + 5)}`;
    return {
      said: `对了，${who}负责新项目的设计，下周开始。`,
      mark: who,
      question: `${who}负责什么？`,
      notes: [
        `${who}负责新项目的设计，下周开始。`,
        `新项目的设计由${who}负责，下周开始`,
        `下周开始，${who}负责新项目设计`,
      ],
    };
  },
  (index) => {
    const sum = figure(index);
    return {
      said: `装修预算是${sum}元，千万别超。`,
      mark: sum,
      question: `装修预算 ${sum}`,
      notes: [`装修预算是${sum}元。`, `预算：装修${sum}元`, `用户的装修预算为${sum}元`],
    };
  },
];

/** So many facts of a conversation. No mark stands in two facts of any conversation. */
export function factsOf(conversation: number, count: number): Fact[] {
  return Array.from({ length: count }, (_, index) => {
    const number = conversation * count + index;
    return pick(kinds, index)(number);
  });
}
