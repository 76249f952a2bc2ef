import { describe, expect, test } from "vitest";
import { mostlySaid, saysAll } from "./same-fact.ts";

describe("a text that says nothing more than the line", () => {
  test.each([
    ["The user's boat is called Heron.", "The boat is called Heron."],
    ["The user's boat is called Heron.", "Heron is the name of the user's boat"],
    ["The user's boat is called Heron.", "Boat name: Heron"],
    ["Dentist: Dr. Okafor (phone 030-5512)", "The user's dentist is Dr. Okafor, phone 030-5512."],
    ["The dentist is Dr. Okafor, phone 030-5512.", "Dr. Okafor's telephone number is 030-5512; she is the dentist."],
    ["User decided to rent the flat in Lisbon for 1,250 euros.", "Decided: rent the Lisbon flat, 1,250 euros"],
    ["Anna prefers tea to coffee.", "Prefers tea to coffee (Anna)"],
    ["The invoice INV-20417 is due on 2026-05-14.", "Invoice INV-20417: due 2026-05-14"],
    ["Mira was born on 14 May 2019.", "Mira, born 14 May 2019"],
    ["Ada Okafor's birthday is on 3 March.", "3 March is the birthday of Ada Okafor."],
    ["The door code of the office is 4471#.", "Office door code: 4471"],
    ["The budget for the kitchen is at most 18,500 euros.", "The kitchen costs 18.500 euros at most."],
    ["Does not eat peanuts (allergy).", "The user doesn't eat peanuts: allergy"],
    ["用户的妹妹叫小红，生日是5月14日。", "妹妹小红的生日是5月14日"],
    ["用户家的门牌号是 1208。", "门牌号：1208"],
    ["The user decided on the van, which costs 20548 euros.", "Final decision on the van: price 20548 euros"],
    ["装修预算是 18500 元，别超。", "预算：装修 18500 元"],
    ["他喜欢喝乌龙茶，不喝咖啡。", "喜欢喝乌龙茶，不喝咖啡"],
  ])("%j, then %j", (line, text) => {
    expect(saysAll(line, text)).toBe(true);
  });
});

describe("another fact that looks alike", () => {
  test.each([
    ["The boat is called Heron.", "The boat is called Osprey."],
    ["Fact number 12.", "Fact number 13."],
    ["Mira was born on 14 May 2019.", "Mira was born on 15 May 2019."],
    ["Mira was born on 14 May 2019.", "Jonas was born on 14 May 2019."],
    ["The rent is 1,250 euros.", "The rent is 1,520 euros."],
    ["Anna Meyer likes sailing.", "Anna Meyer likes chess."],
    ["Anna prefers tea.", "Anna prefers coffee."],
    ["The planning meeting with Berlin is in the morning.", "The planning meeting with Berlin is in the evening."],
    ["The user eats peanuts.", "The user does not eat peanuts."],
    ["The flight to Oslo leaves on 3 June.", "The flight to Oslo leaves on 3 July."],
    ["The flight to Oslo leaves at 07:40.", "The flight to Oslo leaves at 07:40 from gate 22."],
    ["The door code of the office is 4471.", "The door code of the cellar in Delft is 4471."],
    ["Dentist: Dr. Okafor, 030-5512.", "Dentist: Dr. Brandt, 030-5512."],
    ["Uses PostgreSQL 16 in production.", "Uses PostgreSQL 17 in production."],
    ["The server web-1 has 32 GB.", "The server web-2 has 32 GB."],
    ["用户的妹妹叫小红。", "用户的妹妹叫小明。"],
    ["他喜欢喝乌龙茶。", "他不喜欢喝乌龙茶。"],
    ["门牌号是 1208。", "门牌号是 1280。"],
    ["周三开会。", "周四开会。"],
    ["Invoice INV-20417 was sent on 2026-05-14.", "Invoice INV-20417 was paid on 2026-05-14."],
    ["The offsite 2026 is booked.", "The offsite 2026 is cancelled."],
    ["The user decided to rent the flat for 1,250 euros.", "The flat costs 1,250 euros a month."],
    ["The price of the van is 20548 euros.", "The price of the piano is 20548 euros."],
    ["装修预算是 18500 元。", "旅行预算是 18500 元。"],
    ["Anna owes Ben 50 euros.", "Ben owes Anna 50 euros."],
    ["Anna is older than Ben.", "Ben is older than Anna."],
    ["The user moved from Berlin to Paris.", "The user moved from Paris to Berlin."],
    ["The meeting moves from 12 June to 14 June.", "The meeting moves from 14 June to 12 June."],
    ["Anna likes tea, not coffee.", "Anna likes coffee, not tea."],
    ["The alarm is off at night.", "The alarm is on at night."],
    ["Ben refuses to pay invoice 4711.", "Ben pays invoice 4711."],
    ["I hardly ever drink wine.", "I drink wine."],
    ["The meeting is at 3 pm on Friday.", "The meeting is at 3 am on Friday."],
    ["Anna is his boss.", "Anna is her boss."],
    ["The freezer is at 18 degrees.", "The freezer is at -18 degrees."],
    ["The freezer is at -18 degrees.", "The freezer is at 18 degrees."],
    ["Rent < 900 euros is wanted.", "Rent > 900 euros is wanted."],
    ["Version 1.10 is installed.", "Version 1.1 is installed."],
    ["Der Flug geht nicht am 3. Juni.", "Der Flug geht am 3. Juni."],
    ["Le train ne part pas à 8h.", "Le train part à 8h."],
    ["Non beve vino rosso.", "Beve vino rosso."],
    ["Он не любит рыбу.", "Он любит рыбу."],
    ["他戒了咖啡。", "他咖啡。"],
    ["Tea", "Tea"],
  ])("%j, then %j", (line, text) => {
    expect(saysAll(line, text)).toBe(false);
  });
});

test("what stands in notes is known in the message that it is from, and what does not is not", () => {
  const notes = ["The user's sister Anna has her birthday on 14 May.", "用户的预算是 18500 元。"];
  expect(mostlySaid(notes, "Oh, and my sister Anna's birthday is on 14 May!")).toBe(true);
  expect(mostlySaid(notes, "装修预算是 18500 元")).toBe(true);
  expect(mostlySaid(notes, "My sister Anna's birthday is on 15 May.")).toBe(false);
  expect(mostlySaid(notes, "My brother Peter's birthday is on 14 May.")).toBe(false);
  expect(mostlySaid([], "My sister Anna's birthday is on 14 May.")).toBe(false);
});
