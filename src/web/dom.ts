const SVG = 'http://www.w3.org/2000/svg';

type Child = Node | string | undefined;
type Listener = (event: Event) => void;
interface Attributes {
  [name: string]: string | boolean | undefined | Listener;
}

/** Creates an element: `true` sets an attribute, `false` and undefined omit it, a function listens (`onclick`). */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (typeof value === 'string') element.setAttribute(name, value);
    else if (value === true) element.setAttribute(name, '');
  }
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

/** Line drawings on a grid of 24, in the colour of the text. */
const DRAWINGS = {
  back: 'M15 5l-7 7 7 7',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  close: 'M6 6l12 12M18 6L6 18',
  eye: 'M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12zM12 15a3 3 0 100-6 3 3 0 000 6z',
  eyeOff:
    'M4 4l16 16M9.9 5.7A8.7 8.7 0 0112 5.5c6 0 9.5 6.5 9.5 6.5a15 15 0 01-2.7 3.4M6.2 7.3A15.2 15.2 0 002.5 12S6 18.5 12 18.5a9 9 0 004.6-1.3M9.9 9.9a3 3 0 004.2 4.2',
  forward: 'M9 5l7 7-7 7',
  lock: 'M7 11V8a5 5 0 0110 0v3M6 11h12a1 1 0 011 1v7a1 1 0 01-1 1H6a1 1 0 01-1-1v-7a1 1 0 011-1z',
  outside: 'M14 5h5v5M19 5l-8 8M10 6H6a1 1 0 00-1 1v11a1 1 0 001 1h11a1 1 0 001-1v-4',
  search: 'M11 17a6 6 0 100-12 6 6 0 000 12zM15.5 15.5L20 20',
  user: 'M12 12a4 4 0 100-8 4 4 0 000 8zM4.5 20a7.5 7.5 0 0115 0',
  warning: 'M12 6v7.5M12 17.6v.4',
};

export function icon(name: keyof typeof DRAWINGS): SVGElement {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  svg.setAttribute('class', `icon icon-${name}`);
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', DRAWINGS[name]);
  svg.append(path);
  return svg;
}

let serial = 0;

/** Returns an id that this document does not have yet. */
export function newId(): string {
  serial += 1;
  return `x${serial}`;
}
