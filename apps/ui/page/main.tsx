import { render } from "preact";
import { followKeys } from "./shell/keys.tsx";
import { Shell } from "./shell/shell.tsx";
import { listenToServer } from "./state/events.ts";
import { followPlaces } from "./state/place.ts";
import { startSession } from "./state/ask.ts";

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
