/** Construction of elements. Text is never parsed as HTML, because names come from users. */

export type Child = globalThis.Node | string | null | undefined | false;
type Value = string | number | boolean | null | undefined | ((event: never) => void);
export type Attributes = Record<string, Value>;

/** Creates an element with attributes, listeners (`onclick` and the like) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
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

/** Message of an error. */
export const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Creates a message about an error. */
export const failure = (title: string, error: unknown): HTMLElement => notice(title, h("p", {}, reason(error)));

/** Creates a button. By its key, `fill` restores the focus when the parent is filled again. */
export function button(label: string, key: string, act: () => void, more: Attributes = {}): HTMLButtonElement {
  return h("button", { "data-key": key, onclick: act, ...more }, label);
}

/** Creates a button that looks like a link. */
export const link = (label: string, key: string, act: () => void, title?: string): HTMLElement =>
  button(label, key, act, { class: "link", title });

/** Creates buttons of which at most one is pressed, from values, labels and titles. */
export function segments<T extends string>(
  name: string,
  label: string,
  options: readonly (readonly [value: T, label: string, title?: string])[],
  pressed: T | undefined,
  choose: (value: T) => void,
): HTMLElement {
  const buttons = options.map(([value, text, title]) => {
    const state = { class: "segment", [`data-${name}`]: value, title, "aria-pressed": String(value === pressed) };
    return button(text, value, () => choose(value), state);
  });
  return h("div", { class: "segments", role: "group", "aria-label": label }, ...buttons);
}

/** Creates a number with its name and an optional tooltip, for a `dl`. */
export const fact = (label: string, text: string, name: string, value: number | null, title = ""): HTMLElement[] => [
  h("dt", { title: title || null }, label),
  h("dd", { "data-readout": name, "data-value": value ?? "" }, text),
];

export const quiet = (text: string): HTMLElement => h("span", { class: "quiet" }, text);

/** Creates a section with a chart, below its title and legend. */
export function chartSection(
  name: string,
  label: string,
  title: HTMLElement,
  legend: HTMLElement,
  ...content: Child[]
): HTMLElement {
  const head = h("div", { class: "chart-head" }, title, legend);
  return h("section", { class: "chart", "data-chart": name, "aria-label": label }, head, ...content);
}

/** Creates an entry of a legend. */
export function legendKey(colour: string, label: string, value: string | null, attributes: Attributes): HTMLElement {
  const amount = value !== null && h("span", { class: "value" }, value);
  return h("span", { class: "chart-key", ...attributes }, swatch(colour), label, amount);
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
