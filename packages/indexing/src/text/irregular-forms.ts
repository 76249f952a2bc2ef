/** Irregular forms and the base they are indexed under. A stemmer cannot know these. */
const families =
  "be:am,is,are,was,were,been,being go:went,gone,goes buy:bought bring:brought catch:caught teach:taught think:thought " +
  "seek:sought fight:fought say:said pay:paid lay:laid make:made take:took,taken shake:shook,shaken give:gave,given " +
  "get:got,gotten forget:forgot,forgotten come:came become:became run:ran begin:began,begun drink:drank,drunk " +
  "sing:sang,sung swim:swam,swum ring:rang,rung sink:sank,sunk win:won spin:spun write:wrote,written drive:drove,driven " +
  "ride:rode,ridden rise:rose,risen arise:arose,arisen choose:chose,chosen freeze:froze,frozen speak:spoke,spoken " +
  "break:broke,broken steal:stole,stolen wake:woke,woken wear:wore,worn tear:tore,torn swear:swore,sworn bear:bore " +
  "know:knew,known grow:grew,grown throw:threw,thrown blow:blew,blown fly:flew,flown draw:drew,drawn show:shown " +
  "see:saw,seen eat:ate,eaten fall:fell,fallen feel:felt keep:kept sleep:slept sweep:swept leave:left meet:met feed:fed " +
  "lead:led read:reads hold:held tell:told sell:sold find:found bind:bound stand:stood understand:understood sit:sat " +
  "lose:lost shoot:shot build:built send:sent spend:spent lend:lent bend:bent mean:meant deal:dealt dream:dreamt " +
  "learn:learnt burn:burnt hear:heard do:did,done have:had,has hide:hid,hidden bite:bit,bitten slide:slid light:lit " +
  "hang:hung stick:stuck strike:struck dig:dug child:children man:men woman:women person:people foot:feet tooth:teeth " +
  "goose:geese mouse:mice wife:wives life:lives knife:knives leaf:leaves half:halves shelf:shelves wolf:wolves " +
  "good:better,best bad:worse,worst index:indices vertex:vertices matrix:matrices datum:data medium:media " +
  "criterion:criteria analysis:analyses crisis:crises thesis:theses";

export const irregularForms: ReadonlyMap<string, string> = new Map(
  families.split(" ").flatMap((family): [string, string][] => {
    const [base = "", forms = ""] = family.split(":");
    return forms.split(",").map((form) => [form, base]);
  }),
);
