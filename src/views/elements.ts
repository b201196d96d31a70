/* Makes elements. Words become text nodes, and no function here reads HTML. */

type Child = Node | string | undefined;

/** Makes an element. `attributes`: undefined leaves one out. */
export function el<T extends keyof HTMLElementTagNameMap>(
  tag: T,
  attributes: Record<string, string | undefined> = {},
  ...children: Child[]
): HTMLElementTagNameMap[T] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined) made.setAttribute(name, value);
  made.append(...children.filter((child) => child !== undefined));
  return made;
}

/** Makes a button. Only a click of the user counts. */
export function button(
  attributes: Record<string, string | undefined>,
  label: Child[],
  onClick: () => void,
): HTMLButtonElement {
  const made = el('button', { type: 'button', ...attributes }, ...label);
  made.addEventListener('click', ({ isTrusted }) => {
    if (isTrusted) onClick();
  });
  return made;
}

const PATHS = {
  check: 'M4 12.5 9.5 18 20 6.5',
  open: 'M14 4h6v6M20 4l-9 9M18 14v5a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V7a1 1 0 0 1 1-1h5',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  full: 'M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5',
  first: 'M18 6l-6 6 6 6M7 6v12',
  previous: 'M15 6l-6 6 6 6',
  next: 'M9 6l6 6-6 6',
  last: 'M6 6l6 6-6 6M17 6v12',
};
const SVG = 'http://www.w3.org/2000/svg';

export function icon(name: keyof typeof PATHS): SVGSVGElement {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', PATHS[name]);
  svg.append(path);
  return svg;
}
