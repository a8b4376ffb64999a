/** Construction of elements. Text is never parsed as HTML, because names come from users. */

type Child = globalThis.Node | string | null | undefined | false;
type Value = string | number | boolean | null | undefined | ((event: never) => void);

/** Creates an element with attributes, listeners (`onclick` and the like) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, Value> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else if (value !== null && value !== undefined && value !== false)
      element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

export function append(element: Element, children: readonly Child[]): void {
  for (const child of children) if (child !== null && child !== undefined && child !== false) element.append(child);
}

/** Replaces the children. The focus moves to the new child with the same `data-key`, if any. */
export function fill(element: Element, ...children: Child[]): void {
  const focusedKey = element.contains(document.activeElement) ? document.activeElement?.getAttribute("data-key") : null;
  element.replaceChildren();
  append(element, children);
  if (focusedKey)
    element.querySelector<HTMLElement>(`[data-key="${CSS.escape(focusedKey)}"]`)?.focus({ preventScroll: true });
}

/** Creates a message that replaces a view: the problem and its remedy. */
export function notice(title: string, ...rest: Child[]): HTMLElement {
  return h("div", { class: "notice", role: "status" }, h("p", { class: "notice-title" }, title), ...rest);
}

/** Creates a paragraph; text in backquotes becomes code. */
export function prose(text: string): HTMLElement {
  const parts = text.split("`").map((part, index) => (index % 2 === 1 ? h("code", {}, part) : part));
  return h("p", {}, ...parts);
}

/** Creates a colour swatch, hidden from screen readers. */
export function swatch(colour: string, shape: "square" | "line" | "dash" = "square"): HTMLElement {
  const element = h("span", { class: `swatch swatch-${shape}`, "aria-hidden": "true" });
  element.style.setProperty("--swatch", colour);
  return element;
}
