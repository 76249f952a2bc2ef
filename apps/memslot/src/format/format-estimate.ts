import type { SyncEstimate } from "@memslot/core";
import { printable } from "../terminal/printable.ts";
import { counted } from "../open/report-failed-files.ts";

/** What a sync would cost, for people. */
export function formatEstimate(estimate: SyncEstimate): string {
  const { files, changedFiles, chunks, cachedTexts, pendingTexts, tokens, requests, provider, model, reason } =
    estimate;
  const lines = [`${counted(files, "file")} (${changedFiles} to index) · ${counted(chunks, "chunk")}`];
  if (provider === "none") lines.push(`Nothing would be sent: ${reason ?? "there is no embedding provider"}`);
  else {
    lines.push(`Provider: ${printable([provider, model].filter(Boolean).join(" "))}`);
    lines.push(`${counted(cachedTexts, "text")} embedded already, ${counted(pendingTexts, "text")} to send`);
    if (pendingTexts > 0) lines.push(`About ${tokens} tokens in ${counted(requests, "request")}`);
    lines.push(describePrice(estimate));
  }
  return [...lines, "Nothing was changed or sent."].join("\n");
}

function describePrice({ price }: SyncEstimate): string {
  if (price === undefined) return "Price: not known for this model";
  const { usd, usdPerMillionTokens, batchUsdPerMillionTokens, asOf, source } = price;
  if (usdPerMillionTokens === 0) return `Price: nothing (${source})`;
  const batch =
    batchUsdPerMillionTokens === undefined
      ? ""
      : `, ${dollars((usd * batchUsdPerMillionTokens) / usdPerMillionTokens)} with remote.batch.enabled`;
  return `Price: about ${dollars(usd)}${batch} (${usdPerMillionTokens} USD per million tokens on ${asOf}, ${source})`;
}

function dollars(usd: number): string {
  return usd > 0 && usd < 0.01 ? "less than 0.01 USD" : `${usd.toFixed(2)} USD`;
}
