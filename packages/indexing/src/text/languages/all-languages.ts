// Made of the JSON files of this folder by `pnpm generate`.
import type { LanguageFile } from "../times/language.ts";
import da from "./da.json" with { type: "json" };
import de from "./de.json" with { type: "json" };
import en from "./en.json" with { type: "json" };
import es from "./es.json" with { type: "json" };
import fr from "./fr.json" with { type: "json" };
import it from "./it.json" with { type: "json" };
import nl from "./nl.json" with { type: "json" };
import no from "./no.json" with { type: "json" };
import pt from "./pt.json" with { type: "json" };
import ru from "./ru.json" with { type: "json" };
import sv from "./sv.json" with { type: "json" };
import zh from "./zh.json" with { type: "json" };

type Code = "da" | "de" | "en" | "es" | "fr" | "it" | "nl" | "no" | "pt" | "ru" | "sv" | "zh";

export const languages: Readonly<Record<Code, LanguageFile>> = { da, de, en, es, fr, it, nl, no, pt, ru, sv, zh };
