// Light and dark: as the system prefers, until the switch is used.

const page = document.documentElement;
const KEY = "turnstile-theme";

// A page from disk may have no storage; then the choice lasts as long as the page.
try {
  const before = localStorage.getItem(KEY);
  if (before === "dark" || before === "light") page.dataset.theme = before;
} catch {
  // Nothing is lost but the memory of it.
}
document.getElementById("theme").addEventListener("click", () => {
  const isDark = page.dataset.theme ? page.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  page.dataset.theme = isDark ? "light" : "dark";
  try {
    localStorage.setItem(KEY, page.dataset.theme);
  } catch {
    // As above.
  }
});
