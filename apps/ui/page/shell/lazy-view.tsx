import { Component, type ComponentType, type VNode } from "preact";
import { Empty, Loading } from "../components/common-components.tsx";
import type { View } from "../views/views.ts";
import { t } from "../words/translate.ts";

interface State {
  Loaded?: ComponentType;
  error?: unknown;
}

/** Loads a view, and keeps the rest of the page working if it fails. Its `key` is the view. */
export class ViewFrame extends Component<{ view: View }, State> {
  override state: State = {};

  static override getDerivedStateFromError(error: unknown): State {
    return { error };
  }

  override componentDidMount(): void {
    this.props.view.load().then(
      ({ default: Loaded }) => this.setState({ Loaded }),
      (error: unknown) => this.setState({ error }),
    );
  }

  override render(): VNode {
    const { Loaded, error } = this.state;
    if (error === undefined) return Loaded === undefined ? <Loading /> : <Loaded />;
    return (
      <Empty title={t("shell.error.title")}>
        <p>{String(error)}</p>
        <button type="button" onClick={() => location.reload()}>
          {t("shell.error.again")}
        </button>
      </Empty>
    );
  }
}
