import { el } from './elements.ts';
import type { AppFacts } from './shown-facts.ts';

/** Returns a heading with the icon of the app, which is a tile with a letter as everywhere in Gatehouse. */
export function appHeading(app: AppFacts | undefined, title: string, below: string): HTMLElement {
  return el(
    'header',
    {},
    app ? tile(app) : undefined,
    el('div', { class: 'names' }, el('h1', {}, title), el('p', { class: 'soft' }, below)),
  );
}

function tile({ letter, color, ink }: AppFacts): HTMLElement {
  const made = el('span', { class: 'tile', 'aria-hidden': 'true' }, letter);
  made.style.background = color;
  made.style.color = ink;
  return made;
}
