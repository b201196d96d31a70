import { isLoopback } from '../lib/addresses.ts';
import type { Import, Written } from './context.ts';
import { fieldNameOf } from './action-names.ts';
import { itemsOf, memberOf, placeOf, textAt, type Node } from './node.ts';
import { plainText } from './plain-text.ts';

/** The base address of a connector, and the fields that it needs. */
export interface Server {
  baseUrl: string;
  variables: Record<string, Written>;
}

/** Values that can stand in a host name or in one segment of a path. */
const LABEL = /^[a-z0-9]([a-z0-9_-]{0,62})$/i;
const HOST = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i;

/**
 * Returns the server of a document. Where it names none, or only a path, a person enters the address when connecting.
 */
export function readServer(context: Import): Server {
  const { root } = context.documents;
  const found = context.isSwagger2
    ? swagger2Server(root)
    : openApi3Server(context, memberOf(root, 'servers'));
  if (found && /^https?:/.test(found.baseUrl)) return found;
  const path = found?.baseUrl.startsWith('/') ? found.baseUrl : '';
  const what =
    found?.baseUrl === '' ? 'the address of the document cannot be used' : 'the document names no address';
  context.reporter.approximate('#/servers', `${what}, so a person enters it when connecting`);
  return {
    baseUrl: `{server}${path}`,
    variables: {
      ...found?.variables,
      server: {
        title: 'Address',
        description: 'Where the app is: https://api.example.com',
        format: 'origin',
      },
    },
  };
}

/** Returns the address of an operation or path that names a server of its own; undefined where it is the document's. */
export function ownServer(context: Import, nodes: readonly Node[], common: Server): Server | undefined {
  if (context.isSwagger2) return undefined;
  const own = nodes.map((node) => memberOf(node, 'servers')).find((servers) => itemsOf(servers).length > 0);
  const server = own && openApi3Server(context, own);
  return server && /^https?:/.test(server.baseUrl) && server.baseUrl !== common.baseUrl ? server : undefined;
}

function openApi3Server(context: Import, servers: Node): Server | undefined {
  const all = itemsOf(servers).filter((server) => textAt(server, 'url') !== undefined);
  const chosen = all.find((server) => /^https:/i.test(textAt(server, 'url') ?? '')) ?? all[0];
  if (!chosen) return undefined;
  if (all.length > 1)
    context.reporter.approximate(placeOf(servers), 'the first of several addresses is used');
  const variables: Record<string, Written> = {};
  const url = (textAt(chosen, 'url') ?? '')
    .trim()
    .replaceAll(/(:?)\{([^{}]*)\}/g, (_, colon: string, name: string) => {
      const variable = memberOf(memberOf(chosen, 'variables'), name);
      // A port is no part of a name, so a person cannot choose it.
      const field = colon === '' ? variableField(name, variable) : undefined;
      if (field) {
        variables[fieldNameOf(name)] = field;
        return `{${fieldNameOf(name)}}`;
      }
      const fixed = memberOf(variable, 'default').value;
      context.reporter.approximate(placeOf(variable), 'the variable has the value of its default alone');
      return `${colon}${typeof fixed === 'string' || typeof fixed === 'number' ? fixed : ''}`;
    });
  return { baseUrl: secure(context, url.replace(/[?#].*$/, ''), placeOf(chosen)), variables };
}

/** Returns the field of a variable; undefined where its values cannot stand in an address. */
function variableField(name: string, variable: Node): Written | undefined {
  const given = memberOf(variable, 'default').value;
  const first = typeof given === 'string' || typeof given === 'number' ? String(given) : undefined;
  const values = itemsOf(memberOf(variable, 'enum')).map(({ value }) => String(value));
  const all = [...values, ...(first === undefined ? [] : [first])];
  const format = all.every((value) => LABEL.test(value))
    ? 'text'
    : all.every((value) => HOST.test(value))
      ? 'host'
      : undefined;
  if (format === undefined) return undefined;
  const description = plainText(memberOf(variable, 'description').value, 300);
  const title = plainText(name.replaceAll(/[_-]+/g, ' '), 60) ?? 'Value';
  return {
    title: title.charAt(0).toUpperCase() + title.slice(1),
    ...(description === undefined ? {} : { description }),
    ...(format === 'text' ? {} : { format }),
    ...(values.length > 0 ? { enum: [...new Set(values)] } : {}),
    ...(first === undefined || (values.length > 0 && !values.includes(first)) ? {} : { default: first }),
  };
}

function swagger2Server(root: Node): Server | undefined {
  const host = textAt(root, 'host');
  const path = (textAt(root, 'basePath') ?? '').replace(/\/+$/, '');
  if (host === undefined) return path === '' ? undefined : { baseUrl: path, variables: {} };
  const schemes = new Set(itemsOf(memberOf(root, 'schemes')).map(({ value }) => value));
  const isLocal = isLoopback(host.replace(/:\d+$/, ''));
  const scheme = isLocal && schemes.has('http') && !schemes.has('https') ? 'http' : 'https';
  return {
    baseUrl: validAddress(`${scheme}://${host}${path === '' || path.startsWith('/') ? path : `/${path}`}`),
    variables: {},
  };
}

/** Returns an address with https, because http would send the credential unencrypted. */
function secure(context: Import, url: string, place: string): string {
  const plain = url.replace(/\/+$/, '');
  const host = /^http:\/\/([^/:]+)/i.exec(plain)?.[1];
  if (host === undefined || isLoopback(host)) return validAddress(plain);
  context.reporter.approximate(place, 'https replaces http, which would send the credential unencrypted');
  return validAddress(`https${plain.slice(4)}`);
}

/** Returns an address, or the empty text where it is none once its variables are filled. */
function validAddress(address: string): string {
  if (address.startsWith('/')) return address.startsWith('//') ? '' : address;
  const sample = address.replaceAll(/\{\w+\}/g, 'x');
  if (!URL.canParse(sample)) return '';
  const { protocol, username, password } = new URL(sample);
  return /^https?:$/.test(protocol) && !username && !password && address.length <= 2000 ? address : '';
}

/** Returns the address of a page that describes the app. */
export function websiteOf(root: Node, server: Server): string {
  const info = memberOf(root, 'info');
  const pages = [
    textAt(memberOf(root, 'externalDocs'), 'url'),
    textAt(memberOf(info, 'contact'), 'url'),
    server.baseUrl.replaceAll(/\{\w+\}/g, 'x'),
  ];
  const page = pages.find(
    (one) => one !== undefined && /^https?:\/\/[^\s<>]+$/.test(one) && URL.canParse(one),
  );
  return page ?? 'https://example.com';
}
