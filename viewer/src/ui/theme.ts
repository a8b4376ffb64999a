/**
 * Dark and light theme: the user's choice, or else that of the system. Canvases use the CSS
 * variables of the page.
 */

type Theme = "light" | "dark";
const KEY = "backwater-theme";
const listeners = new Set<() => void>();
const tokens = new Map<string, string>();

function current(): Theme {
  return document.documentElement.dataset["theme"] === "dark" ? "dark" : "light";
}

export function start(): void {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  apply(stored() ?? (system.matches ? "dark" : "light"));
  system.addEventListener("change", () => {
    if (stored() === null) apply(system.matches ? "dark" : "light");
  });
}

export function toggle(): void {
  const next = current() === "dark" ? "light" : "dark";
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // A page opened from a file may have no storage; the choice then ends with the page.
  }
  apply(next);
}

export function onTheme(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Returns the value of a variable of tokens.css, for canvases. */
export function token(name: string): string {
  const known = tokens.get(name);
  if (known !== undefined) return known;
  const value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  tokens.set(name, value);
  return value;
}

function apply(theme: Theme): void {
  document.documentElement.dataset["theme"] = theme;
  tokens.clear();
  for (const listener of [...listeners]) listener();
}

function stored(): Theme | null {
  try {
    const value = localStorage.getItem(KEY);
    return value === "dark" || value === "light" ? value : null;
  } catch {
    return null;
  }
}
