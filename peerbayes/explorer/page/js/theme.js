// Light, dark, or as the system says.

const themes = ["system", "light", "dark"];
const place = "peerbayes-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

/** Shows the theme that was chosen last, and calls `changed` whenever colours change. */
export function startTheme(state, changed) {
  let chosen = "system";
  try {
    chosen = localStorage.getItem(place) ?? "system";
  } catch {
    /* a forbidden storage: as the system says */
  }
  apply(chosen);
  state.set({ theme: chosen });
  dark.addEventListener("change", () => {
    apply(state.settings.theme);
    changed();
  });
  state.on("settings", ({ theme }) => {
    if (theme) {
      apply(theme);
      changed();
    }
  });
}

export function nextTheme(state) {
  const theme = themes[(themes.indexOf(state.settings.theme) + 1) % themes.length];
  try {
    localStorage.setItem(place, theme);
  } catch {
    /* it lasts as long as the page */
  }
  state.set({ theme });
  state.say(`Colours: ${theme === "system" ? "as the system says" : theme}.`);
}

function apply(theme) {
  document.documentElement.dataset.theme =
    theme === "dark" || (theme !== "light" && dark.matches) ? "dark" : "light";
}
