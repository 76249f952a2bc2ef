import type { VNode } from "preact";
import { Loading } from "../../parts/states.tsx";
import { status } from "../../state/events.ts";
import { t } from "../../words/words.ts";

export default function HealthView(): VNode {
  const now = status.value;
  if (now === undefined) return <Loading />;
  return (
    <>
      <h1>{t("nav.health")}</h1>
      <p>
        {now.backend}: {now.files ?? 0} / {now.chunks ?? 0}
      </p>
    </>
  );
}
