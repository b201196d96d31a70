import type { ActionDefinition, ConnectorFile } from '../../connectors/format/format.ts';
import type { Documents } from '../documents.ts';
import { decoded, itemsOf, memberOf, textAt, type Node } from '../node.ts';
import { methodsOf } from '../operation.ts';
import { shape } from './field.ts';
import { listOf } from './document-members.ts';

/** An operation of a document, as methodsOf() returns it. */
type Place = ReturnType<typeof methodsOf>[number];

export interface FoundOperation {
  /** The operations of the request. Some documents describe a request several times, with different path fragments. */
  places: readonly Place[];
  /** Whether it was found only after the path of the connector's base address was left out. */
  isElsewhere: boolean;
}

/** The operations of a document by the requests that they answer. */
export interface Operations {
  /** Addresses of the document: `https://api.example.com/v1`; empty where it names none. */
  addresses: readonly string[];
  /** Requests of the document: `GET /orders/{id}`. */
  requests: readonly string[];
  /** Returns the operation of an action; undefined where there is none. */
  find(definition: ConnectorFile, action: ActionDefinition): FoundOperation | undefined;
}

interface Known {
  place: Place;
  /** Path with nameless parameters, without the path of the servers. `whole`: with the path of each server. */
  below: readonly string[];
  whole: readonly string[];
}

export function operationsOf(documents: Documents): Operations {
  const common = serversOf(documents.root);
  const byMethod = new Map<string, Known[]>();
  const exact = new Map<string, Place[]>();
  const requests: string[] = [];
  for (const place of methodsOf(documents)) {
    const { method } = place;
    const [path = ''] = place.path.split(/[?#]/);
    const own = [place.node, place.item].map(serversOf).find((all) => all.length > 0) ?? common;
    const whole = [...new Set(own.map((server) => nameless(server.path + path)))];
    const known = { place, below: [nameless(path)], whole };
    for (const kind of KINDS) {
      for (const one of known[kind]) {
        const key = `${kind} ${method} ${one}`;
        exact.set(key, [...(exact.get(key) ?? []), place]);
      }
    }
    byMethod.set(method, [...(byMethod.get(method) ?? []), known]);
    requests.push(`${method} ${path}`);
  }

  return {
    addresses: common.map(({ address }) => address).filter((address) => /^https?:/i.test(address)),
    requests,
    find(definition, action) {
      const [method = ''] = action.request.split(' ');
      const own = ownPaths(definition, action);
      for (const [mine, theirs] of WAYS) {
        const path = own[mine].find((one) => exact.has(`${theirs} ${method} ${one}`));
        const places = exact.get(`${theirs} ${method} ${path}`);
        if (places) return { places, isElsewhere: mine === 'below' };
      }
      for (const [mine, theirs] of WAYS) {
        const found = byMethod
          .get(method)
          ?.find((one) => one[theirs].some((known) => own[mine].some((path) => fits(path, known))));
        if (found) return { places: [found.place], isElsewhere: mine === 'below' };
      }
      return undefined;
    },
  };
}

const KINDS = ['whole', 'below'] as const;
/**
 * The paths that are compared, in this order. Documents write the prefix of an API into the address of the server, into
 * each path, or nowhere.
 */
const WAYS = [
  ['whole', 'whole'],
  ['whole', 'below'],
  ['below', 'below'],
  ['below', 'whole'],
] as const;

interface ServerAddress {
  address: string;
  /** Path of the address, with the defaults of variables. */
  path: string;
}

/** Returns the servers of a document, a path or an operation; in Swagger 2.0 of its host. */
function serversOf(node: Node): ServerAddress[] {
  const base = (textAt(node, 'basePath') ?? '').replace(/\/+$/, '');
  const host = textAt(node, 'host');
  if (host !== undefined || base !== '')
    return [{ address: host === undefined ? base : `https://${host}${base}`, path: base }];
  return itemsOf(memberOf(node, 'servers')).flatMap((server) => {
    const url = textAt(server, 'url')
      ?.replace(/[?#].*$/, '')
      .replace(/\/+$/, '');
    if (url === undefined) return [];
    const path = pathOf(url).replaceAll(/\{([^{}]*)\}/g, (whole, name: string) => {
      const preset = memberOf(memberOf(memberOf(server, 'variables'), name), 'default').value;
      return typeof preset === 'string' ? preset : whole;
    });
    return [{ address: url, path }];
  });
}

/** Returns the path of an address, without scheme and host. */
function pathOf(address: string): string {
  return address.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, '').replace(/^\{[^{}]*\}/, '');
}

/** Returns the nameless paths of an action: with the path of its base address, and below it. */
function ownPaths(definition: ConnectorFile, action: ActionDefinition): Pick<Known, 'whole' | 'below'> {
  const [, path = ''] = action.request.split(' ');
  const base = action.baseUrl ?? definition.baseUrl;
  const preset = base.replaceAll(
    /\{(\w+)\}/g,
    (whole, name: string) => definition.variables[name]?.default ?? whole,
  );
  let all = [path];
  for (const [name, parameter] of Object.entries(action.path)) {
    const values = listOf(parameter['enum']);
    if (values.length > 0 && all.length * values.length <= MAX_PATHS)
      all = values.flatMap((one) => all.map((each) => each.replace(`{${name}}`, String(one))));
  }
  const below = [...new Set([...all, path].map(nameless))];
  const bases = [...new Set([preset, base].map((one) => nameless(pathOf(one))))];
  return { below, whole: bases.flatMap((one) => below.map((each) => one + each)) };
}

/** Returns a path with nameless parameters and without percent-encoding. */
function nameless(path: string): string {
  return decoded(shape(path));
}

/** Paths of one action, where parameters of its path have enums. */
const MAX_PATHS = 200;

/** Returns whether a request fits a path of the document, whose parameters stand for any segment. */
function fits(own: string, known: string): boolean {
  if (!known.includes('{}')) return false;
  const steps = known.split('/');
  const segments = own.split('/');
  return (
    steps.length === segments.length && steps.every((one, index) => one === segments[index] || one === '{}')
  );
}

/** Returns whether a base address has the host of one of the addresses. A variable stands for any label. */
export function hasHost(base: string, addresses: readonly string[]): boolean {
  const own = hostOf(base);
  return addresses.some((address) => {
    const known = hostOf(address);
    if (own === '{}' || known === '{}') return true;
    const labels = known.split('.');
    const mine = own.split('.');
    return (
      labels.length === mine.length &&
      labels.every(
        (label, index) => label.includes('{}') || mine[index]?.includes('{}') || label === mine[index],
      )
    );
  });
}

function hostOf(address: string): string {
  const host =
    address
      .replace(/^https?:\/\//i, '')
      .replaceAll(/\{[^{}]*\}/g, '{}')
      .split('/')[0] ?? '';
  return host.toLowerCase();
}
