import { render } from "preact";
import { followKeys } from "./components/shortcuts.ts";
import { Shell } from "./shell/shell.tsx";
import { listenToServer } from "./state/server-events.ts";
import { followPlaces } from "./state/page-address.ts";
import { startSession } from "./state/api-client.ts";

import "./styles/base.css";
import "./styles/shell.css";

const app = document.querySelector("#app");
if (app !== null) render(<Shell />, app);
followPlaces();
followKeys();
await startSession();
// Opening a new address in the same page only changes its fragment.
addEventListener("hashchange", () => void startSession());
listenToServer();
