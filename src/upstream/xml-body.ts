import { isJsonObject, valueAt, type Json, type JsonObject } from '../lib/json.ts';
import { memoByText } from '../lib/memo.ts';
import { parseXml, type XmlElement } from '../lib/xml.ts';
import { inputFault, type Body } from './request-draft.ts';

const MAX_TEMPLATES = 500;
const template = memoByText(MAX_TEMPLATES, parseXml);
const PLACE = /\{([a-zA-Z_][\w.]*)\}/g;
const WHOLE = /^\s*\{([a-zA-Z_][\w.]*)\}\s*$/;
const NAME = /^[A-Za-z_][\w.-]*$/;
// eslint-disable-next-line no-control-regex -- XML 1.0 section 2.2 has no such characters
const NOT_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/;

/**
 * Returns the body of an XML document whose places `{name}` are members. An element whose place has no value is left
 * out, a list repeats it, and an object becomes its children. No value can add other elements.
 */
export function xmlBody(document: string, members: JsonObject): Body {
  const root = template(document);
  return {
    contentType: 'text/xml; charset=utf-8',
    members,
    content: () => `<?xml version="1.0" encoding="utf-8"?>\n${elementText(root, members)}`,
  };
}

function elementText({ name, attributes, children }: XmlElement, members: JsonObject): string {
  const [only] = children;
  const place = children.length === 1 && typeof only === 'string' ? WHOLE.exec(only)?.[1] : undefined;
  const attributesText = Object.entries(attributes).map(([key, text]) => attributeText(key, text, members));
  const tag = `${name}${attributesText.join('')}`;
  if (place !== undefined) return valueText(tag, name, { value: valueAt(members, place), field: place });
  const content = children.map((child) =>
    typeof child === 'string' ? filledText(child, members) : elementText(child, members),
  );
  return wrapped(tag, name, content.join(''));
}

/** Returns an attribute; nothing where it is one place without a value. */
function attributeText(name: string, text: string, members: JsonObject): string {
  const place = WHOLE.exec(text)?.[1];
  if (place !== undefined && (valueAt(members, place) ?? null) === null) return '';
  return ` ${name}="${filledText(text, members)}"`;
}

function filledText(text: string, members: JsonObject): string {
  let filled = '';
  let at = 0;
  for (const match of text.matchAll(PLACE)) {
    const field = match[1] ?? '';
    filled += escaped(field, text.slice(at, match.index)) + scalarText(field, valueAt(members, field) ?? '');
    at = match.index + match[0].length;
  }
  return filled + escaped('', text.slice(at));
}

/** Returns the elements of a value. `tag` has the attributes, `name` the prefix that children take over. */
function valueText(
  tag: string,
  name: string,
  { value, field }: { value: Json | undefined; field: string },
): string {
  if (value === undefined || value === null) return '';
  if (Array.isArray(value))
    return value.map((entry) => valueText(tag, name, { value: entry, field })).join('');
  if (!isJsonObject(value)) return wrapped(tag, name, scalarText(field, value));
  const prefix = name.includes(':') ? `${name.split(':')[0]}:` : '';
  const children = Object.entries(value).map(([key, member]) => {
    if (!NAME.test(key)) throw inputFault(`${field}.${key}`, 'is no name of an XML element');
    return valueText(prefix + key, prefix + key, { value: member, field: `${field}.${key}` });
  });
  return wrapped(tag, name, children.join(''));
}

function wrapped(tag: string, name: string, content: string): string {
  return content === '' ? `<${tag}/>` : `<${tag}>${content}</${name}>`;
}

function scalarText(field: string, value: Json): string {
  return escaped(field, typeof value === 'string' ? value : JSON.stringify(value));
}

function escaped(field: string, text: string): string {
  if (NOT_XML.test(text)) throw inputFault(field, 'must not hold characters that XML does not have');
  return text
    .toWellFormed()
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\r', '&#13;');
}
