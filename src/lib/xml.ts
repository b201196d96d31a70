import { createRequire } from 'node:module';
import type * as Sax from 'sax';
import type { SAXParser } from 'sax';
import { MAX_JSON_DEPTH, type Json, type JsonObject } from './json.ts';
import type { Pause } from './json-steps.ts';

/** An element as it was written. */
export interface XmlElement {
  /** With its prefix. */
  name: string;
  attributes: Record<string, string>;
  children: (XmlElement | string)[];
}

/** XML that is not well-formed, or exceeds a limit. The message says why. */
export class XmlError extends Error {
  override readonly name = 'XmlError';
}

const MAX_ELEMENTS = 200_000;
/** Characters that are parsed without a pause. */
const SLICE_CHARS = 128 * 1024;

const require = createRequire(import.meta.url);
/** The types do not know `strictEntities`: only the five entities of XML. */
const OPTIONS = { strictEntities: true, position: true };

/**
 * Parses a document. Other entities than the five of XML, document types and more than MAX_ELEMENTS elements are
 * refused. The package is loaded at its first use.
 * @throws XmlError
 */
export function parseXml(text: string): XmlElement {
  const { parser, root } = newParser();
  parser.write(text).close();
  return onlyElement(root);
}

/** Parses a large document as parseXml(), with pauses. */
export async function parseXmlInSteps(text: string, pause: Pause): Promise<XmlElement> {
  const { parser, root } = newParser();
  for (let at = 0; at < text.length; at += SLICE_CHARS) {
    if (at > 0) await pause();
    parser.write(text.slice(at, at + SLICE_CHARS));
  }
  parser.close();
  return onlyElement(root);
}

function newParser(): { parser: SAXParser; root: XmlElement } {
  const { parser: create }: typeof Sax = require('sax');
  const parser = create(true, OPTIONS);
  const root: XmlElement = { name: '', attributes: {}, children: [] };
  collect(parser, root);
  return { parser, root };
}

function onlyElement({ children }: XmlElement): XmlElement {
  const [element, second] = children.filter((child) => typeof child !== 'string');
  if (!element || second) throw new XmlError('it must have one outermost element');
  return element;
}

function collect(parser: SAXParser, root: XmlElement): void {
  const open = [root];
  let elements = 0;
  const fail = (reason: string): never => {
    throw new XmlError(`${reason} (line ${parser.line + 1})`);
  };
  const addText = (text: string): void => {
    const children = open.at(-1)?.children ?? [];
    const last = children.at(-1);
    if (typeof last === 'string') children[children.length - 1] = last + text;
    else children.push(text);
  };
  const onopentag: SAXParser['onopentag'] = ({ name, attributes }) => {
    if (++elements > MAX_ELEMENTS) fail(`it has more than ${MAX_ELEMENTS} elements`);
    if (open.length > MAX_JSON_DEPTH) fail(`it nests deeper than ${MAX_JSON_DEPTH} levels`);
    const texts = Object.entries(attributes).map(([key, value]) => [key, String(value)]);
    const element: XmlElement = { name, attributes: Object.fromEntries(texts), children: [] };
    open.at(-1)?.children.push(element);
    open.push(element);
  };
  Object.assign(parser, {
    onerror: ({ message }: Error) => fail(message.split('\n')[0] ?? message),
    ondoctype: () => fail('a document type is not allowed'),
    ontext: addText,
    oncdata: addText,
    onopentag,
    onclosetag: () => void open.pop(),
  });
}

/**
 * Returns an element as JSON: its children by name without prefix, repeated ones as a list, attributes as `@name`. An
 * element of text alone is the text; text next to others is `#text`. `lists`: names of elements that are always lists.
 */
export function xmlToJson(element: XmlElement, lists: ReadonlySet<string> = new Set()): Json {
  const attributes = Object.entries(element.attributes).filter(([name]) => !/^xmlns(:|$)/.test(name));
  if (attributes.some(([name, value]) => localName(name) === 'nil' && /^(true|1)$/.test(value))) return null;
  const text = element.children.filter((child) => typeof child === 'string').join('');
  const children = element.children.filter((child) => typeof child !== 'string');
  if (attributes.length === 0 && children.length === 0) return text.trim();
  // A null prototype keeps a child named __proto__ a plain member.
  const members: JsonObject = Object.create(null);
  for (const [name, value] of attributes) members[`@${localName(name)}`] = value;
  for (const child of children) {
    const name = localName(child.name);
    const value = xmlToJson(child, lists);
    const before = members[name];
    if (before === undefined) members[name] = lists.has(name) ? [value] : value;
    // An array here is always this list, because the JSON of one element is never an array.
    else if (Array.isArray(before)) before.push(value);
    else members[name] = [before, value];
  }
  if (text.trim() !== '') members['#text'] = text.trim();
  return { ...members };
}

/** Returns the text of a body in the encoding that its media type or its declaration names; UTF-8 without either. */
export function xmlText(bytes: Uint8Array, contentType: string): string {
  const start = Buffer.from(bytes.subarray(0, 200)).toString('latin1');
  const label =
    /charset="?([\w-]+)/i.exec(contentType)?.[1] ?? /^\s*<\?xml[^>]*encoding=["']([\w-]+)/.exec(start)?.[1];
  try {
    return new TextDecoder(label ?? 'utf-8').decode(bytes);
  } catch {
    throw new XmlError(`its encoding ${label} is not known`);
  }
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
