import { appHeading } from './app-heading.ts';
import { el } from './elements.ts';
import { objectOf, textOf, type JsonObject } from './json-values.ts';
import type { AppFacts } from './shown-facts.ts';

/** Draws a refusal: the sentence of Gatehouse, and the words of the app apart from it. */
export function errorCard(app: AppFacts | undefined, result: JsonObject): HTMLElement {
  const error = objectOf(objectOf(result['structuredContent'])['error']);
  const said = textOf(objectOf(error['details'])['message']);
  return el(
    'section',
    { class: 'card' },
    appHeading(app, 'This did not work', app?.name ?? 'Gatehouse'),
    el('p', {}, textOf(error['message']) ?? 'The tool failed.'),
    said === undefined
      ? undefined
      : el('blockquote', {}, el('p', { class: 'soft' }, 'The app says:'), el('p', {}, said)),
  );
}
