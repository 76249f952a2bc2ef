import { Component, type ComponentType, type VNode } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { Empty, Loading } from "../components/common-components.tsx";
import type { View } from "../views/views.ts";
import { t } from "../words/translate.ts";

/** Loads a view, and keeps the rest of the page working if it fails. */
export function ViewFrame({ view }: { view: View }): VNode {
  const [Loaded, setLoaded] = useState<ComponentType | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  // Before the placeholder is painted: an effect after it would cost a frame.
  useLayoutEffect(() => {
    let isWanted = true;
    view.load().then(
      (module) => isWanted && setLoaded(() => module.default),
      (reason: unknown) => isWanted && setError(reason),
    );
    return () => {
      isWanted = false;
    };
  }, [view]);
  if (error !== undefined) return <ViewError error={error} />;
  return <Boundary>{Loaded === undefined ? <Loading /> : <Loaded />}</Boundary>;
}

class Boundary extends Component<{ children: VNode }, { error: unknown }> {
  override state: { error: unknown } = { error: undefined };

  static override getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error };
  }

  override render(): VNode {
    return this.state.error === undefined ? this.props.children : <ViewError error={this.state.error} />;
  }
}

function ViewError({ error }: { error: unknown }): VNode {
  return (
    <Empty title={t("shell.error.title")}>
      <p>{String(error)}</p>
      <button type="button" onClick={() => location.reload()}>
        {t("shell.error.again")}
      </button>
    </Empty>
  );
}
