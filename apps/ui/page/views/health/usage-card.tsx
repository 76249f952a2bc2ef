import type { VNode } from "preact";
import type { HealthAnswer } from "../../../src/api/health.ts";
import { formatted, money, t } from "../../words/words.ts";

/** Tokens sent to providers by day, and their cost if known. */
export function UsageCard({ usage, details }: Pick<HealthAnswer, "usage" | "details">): VNode {
  const most = Math.max(1, ...usage.map(({ tokens }) => tokens));
  const { price } = details ?? {};
  return (
    <section class="card">
      <h2>{t("health.usage")}</h2>
      {usage.length === 0 && <p class="faint">{t("health.none")}</p>}
      {usage.length > 0 && (
        <table>
          <tbody>
            {usage.map(({ day, tokens, usd }) => (
              <tr key={day}>
                <th scope="row">{day}</th>
                <td>{formatted(tokens)}</td>
                <td>{usd === undefined ? "" : money(usd)}</td>
                <td class="bar">
                  <meter value={tokens} max={most} aria-label={day} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {price && <p class="faint">{t("health.price", { price: money(price.usdPerMillionTokens), day: price.asOf })}</p>}
    </section>
  );
}
