// Light and dark: as the system prefers, until the switch is used.

const page = document.documentElement;
const prefersDark = matchMedia("(prefers-color-scheme: dark)");

/** Colours that the canvas needs, as the style has them now. */
let ink = {};

function readColors() {
  const style = getComputedStyle(page);
  const names = ["ink", "soft", "line", "paper", "band", "lane", "failed", "focus"];
  ink = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

function isDark() {
  return page.dataset.theme ? page.dataset.theme === "dark" : prefersDark.matches;
}

// A page from disk may have no storage; then the choice lasts as long as the page.
function remember(theme) {
  try {
    localStorage.setItem("turnstile-theme", theme);
  } catch {
    // Nothing is lost but the memory of it.
  }
}

function remembered() {
  try {
    return localStorage.getItem("turnstile-theme");
  } catch {
    return null;
  }
}

function startTheme(changed) {
  const before = remembered();
  if (before === "dark" || before === "light") page.dataset.theme = before;
  readColors();
  document.getElementById("theme").addEventListener("click", () => {
    page.dataset.theme = isDark() ? "light" : "dark";
    remember(page.dataset.theme);
    readColors();
    changed();
  });
  prefersDark.addEventListener("change", () => {
    readColors();
    changed();
  });
  // Paper is light.
  let chosen;
  const repaint = (theme) => {
    if (theme) page.dataset.theme = theme;
    else delete page.dataset.theme;
    readColors();
    paint();
  };
  addEventListener("beforeprint", () => {
    chosen = page.dataset.theme;
    repaint("light");
  });
  addEventListener("afterprint", () => repaint(chosen));
}
