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

/** `changed` is told of new colours; `paintNow` paints in them before it returns, for paper or not. */
function startTheme(changed, paintNow) {
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
  const repaint = (theme, paper) => {
    if (theme) page.dataset.theme = theme;
    else delete page.dataset.theme;
    readColors();
    paintNow(paper);
  };
  addEventListener("beforeprint", () => {
    chosen = page.dataset.theme;
    repaint("light", true);
  });
  addEventListener("afterprint", () => repaint(chosen, false));
}
