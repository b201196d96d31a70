import { el } from './elements.ts';
import { isObject, type Json } from './json-values.ts';
import { cellText, cellsOf } from './table-cells.ts';

/** Draws one record: its members below each other, each whole. */
export function recordFields(record: Json): HTMLElement {
  if (!isObject(record)) return valueBlock(record);
  const list = el('dl', {});
  for (const [name, value] of cellsOf(record))
    list.append(el('div', {}, el('dt', {}, name), el('dd', {}, fieldText(value))));
  return list;
}

function fieldText(value: Json): string {
  return Array.isArray(value) && value.some(isObject) ? JSON.stringify(value, null, 2) : cellText(value);
}

/** Draws a value that is no record. */
export function valueBlock(value: Json): HTMLElement {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  return el('pre', { tabindex: '0', 'aria-label': 'Value' }, text);
}
