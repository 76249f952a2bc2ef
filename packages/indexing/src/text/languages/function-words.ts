/** Languages other than English whose words are stemmed, by their code of ISO 639-1. */
export type LanguageCode = "da" | "de" | "es" | "fr" | "it" | "nl" | "no" | "pt" | "ru" | "sv";

/**
 * Words that hold sentences together and are searched for by nobody, as they are written in small letters. They tell one
 * language from another, and are left out of a question in theirs. Short on purpose: a word that may be meant is no
 * function word, and those of a question ("wann", "pourquoi") are there.
 */
const lists: Readonly<Record<LanguageCode, string>> = {
  da:
    "af at blev bliver da de dem den denne deres det dette dig dog du efter eller en er et for fra ham han hans har havde hende her hun hvad hvem " +
    "hver hvilken hvis hvor hvordan hvorfor hvornår i ikke ind jeg jer kan kunne med meget men mig min mit mod må nogen noget nu når og også om op os over på " +
    "selv sig sin skal skulle som så til ud under var ved vi vil ville vores være været",
  de:
    "aber als am an auch auf aus bei beim bin bis da damit dann das dass daß dem den denn der des die dies diese dieser dieses doch du durch ein eine einem " +
    "einen einer eines er es euer für gegen gibt habe haben hat hatte hatten ich ihm ihn ihnen ihr ihre im in ins ist ja kann kein keine können man mein meine " +
    "meinem meinen meiner mich mir mit nach nicht noch nun nur ob oder ohne schon sehr sein seine sich sie sind so soll sollte über um und uns unser unsere vom von vor " +
    "wann war waren warum was wegen weil welche welchem welchen welcher welches wem wen wenn wer werden weshalb wie wieder wieso wird wir wo woher wohin wurde wurden würde zu zum zur zwischen",
  es:
    "a al algo aquel aquella así aunque como cómo con cuál cuando cuándo cuánto cuántos cuya de del desde donde dónde e el él ella ellas ellos en entre era eran es " +
    "esa ese eso esta está estaba están este esto fue fueron ha había han hasta hay he la las le les lo los mas más me mi mis muy ni no nos nuestra nuestro " +
    "o para pero por porque qué que quién quien se sea ser si sí sido sin sobre son soy su sus también te tiene tienen tu un una unas uno unos y ya yo",
  fr:
    "a ai au aussi aux avait avec avez avons ce cela ces cet cette ceux chez combien comme comment dans de depuis des donc dont du elle elles en est et étaient était été " +
    "être eu fait il ils je la là le les leur leurs lui ma mais me mes moi mon ne nos notre nous on ont ou où par pas pour pourquoi qu quand que quel quelle quelles " +
    "quels qui quoi sa sans se sera ses si son sont suis sur ta te tes toi ton tu un une vos votre vous y",
  it:
    "a ad agli ai al alla alle allo anche avere aveva c che chi ci col come con cosa cui da dagli dai dal dalla dalle dei degli del dell della delle dello di dove e è era " +
    "erano essere fu gli ha hai hanno ho i il in io la le lei lo loro lui ma mi mia mio ne nei nel nell nella nelle no noi non nostra nostro o per perché però più " +
    "qual quale quali quando quanto quanti quella quello questa queste questi questo se sei si sia siamo sono su sua sue sugli sul sulla suo suoi ti tra tu un una uno vi voi",
  nl:
    "aan al alles als altijd andere bij daar dan dat de den der deze die dit doen door dus een eens en er ge geen had heb hebben heeft hem het hier hij hoe hoeveel hun " +
    "iets ik in is ja je kan kon kunnen maar me meer men met mij mijn moet na naar niet nog nu of om omdat ons onze ook op over te tegen toch toen tot u uit uw van " +
    "veel voor waar waarom wanneer waren was wat we welk welke werd wie wij wil word worden wordt zal ze zich zij zijn zo zonder zou",
  no:
    "af alle at av bare ble bli blir da de dem den denne der deres det dette din du eller en er et etter for fordi fra før ha hadde han hans har henne her hun hva hvem " +
    "hver hvilken hvis hvor hvordan hvorfor i ikke inn jeg kan kunne man med meg men mer min mitt mot må noe noen nå når og også om opp oss over på seg selv si sin " +
    "skal skulle som så til um under ut var ved vi vil ville vår være vært",
  pt:
    "a à ao aos as às até com como da das de dela dele deles do dos e é ela elas ele eles em entre era eram essa esse esta está estão estava este eu foi foram há isso isto já lhe mais " +
    "mas me mesmo meu minha muito na não nas nem no nos nós nossa nosso num numa o onde os ou para pela pelas pelo pelos por porque porquê qual quais quando quanto quantos que " +
    "quem se sem ser será seu seus só sua suas também te tem têm tinha tu um uma você vocês",
  ru:
    "а без бы был была были было быть в вам вас весь во вот все всё всего вы где да даже для до его ее её ей ему если есть еще ещё же за здесь и из или им их к как какая какие " +
    "какой ко когда кого который кто куда ли либо лишь мне мой моя мы на над надо наш не него нее ней нет ни них но ну о об он она они оно от очень по под почему при с сам свой себя " +
    "сколько со так такой там те тебя тем то тоже только том ты у уже чего чем что чтобы эта эти это этот я",
  sv:
    "alla att av blev bli blir då de dem den denna deras dess det detta dig din ditt du där efter ej eller en er ert ett från för ha hade han hans har henne hennes hon honom hur " +
    "här i icke ingen inom inte jag kan kunde man med mellan men mig min mina mitt mot mycket när någon något nu och om oss på sedan sig sin sitt ska skall skulle som " +
    "så till under upp ut utan vad var varför varje vars vem vi vid vilka vilken vilket vill vår våra än är åt över",
};

/** Those of English that the others are compared with. More than the stop words of a question: here nothing gets lost. */
const english =
  "a about after all also an and any are as at be because been before but by can could did do does for from get go had has have he her him his how i if in into is it its " +
  "just me more my no not now of on one or our out over she so some than that the their them then there these they this to up us was we were what when where which who why will with would you your";

/** Function words that are English words too, or stand in names ("de la Rosa"): alone they tell nothing of a language. */
const englishToo = new Set(
  (
    english +
    " de en des den das el et die war hat man den am bin bis dem des her an also pour sur son comment plus dans la le las los mi tu si no non me te ma con e o dos mas de van over of had her hem den door dit once " +
    " fin far han er et ben at for man under din min mine men ved var sin in via per da du i ad al se il el un una pro ha hay he are sea ser mon ton main on do as is was we ja us era main" +
    " my ne sa ta es est test des non sous sans so will been have came come men bare si us um out of dig hun kan hade var ole ham"
  ).split(" "),
);

export const englishWords: ReadonlySet<string> = new Set(english.split(" "));

export const functionWords: Readonly<Record<LanguageCode, ReadonlySet<string>>> = Object.fromEntries(
  Object.entries(lists).map(([code, words]) => [code, new Set(words.split(" "))]),
) as unknown as Record<LanguageCode, ReadonlySet<string>>;

export const languageCodes = Object.keys(lists) as readonly LanguageCode[];

/** Which languages a word is a function word of, with how much it tells of them. */
export const tellingWords: ReadonlyMap<string, { codes: readonly LanguageCode[]; weight: number }> = tellingOf();

function tellingOf(): Map<string, { codes: LanguageCode[]; weight: number }> {
  const telling = new Map<string, { codes: LanguageCode[]; weight: number }>();
  for (const code of languageCodes) {
    for (const word of functionWords[code]) {
      const told = telling.get(word);
      if (told === undefined) telling.set(word, { codes: [code], weight: englishToo.has(word) ? 0.4 : 1 });
      else told.codes.push(code);
    }
  }
  return telling;
}
