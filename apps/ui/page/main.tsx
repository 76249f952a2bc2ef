import { render } from "preact";
import { followKeys } from "./components/shortcuts.ts";
import { Shell } from "./shell/shell.tsx";
import { listenToServer } from "./state/server-events.ts";
import { followPlaces, pathname } from "./state/page-address.ts";
import { startSession } from "./state/api-client.ts";
import { viewAt } from "./views/views.ts";

import "./styles/base.css";
import "./styles/shell.css";

// The code of the view and its first requests are prepared beside the login.
const started = startSession();
void viewAt(pathname.value)?.load();
const app = document.querySelector("#app");
if (app !== null) render(<Shell />, app);
followPlaces();
followKeys();
await started;
// Opening a new address in the same page only changes its fragment.
addEventListener("hashchange", () => void startSession());
listenToServer();
