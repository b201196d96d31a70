import { isLoopback } from '../lib/addresses.ts';
import type { Import, Written } from './context.ts';
import { fieldNameOf } from './action-names.ts';
import { entriesOf, memberOf, placeOf, textAt, type Node } from './node.ts';
import { plainText } from './plain-text.ts';

/** A security scheme of a document. */
export interface Scheme {
  name: string;
  /** The type of the connector format that expresses this scheme; undefined if only `custom` can. */
  type: string | undefined;
  written: Written;
  /** Name of the credential's field in `apply`. `apply` has the scheme as templates, for `custom`. */
  field: string | undefined;
  title: string;
  apply: { headers?: Record<string, string>; query?: Record<string, string> };
  /** Place and name of an API key. */
  in?: string;
  parameter?: string;
}

const HEADER_NAME = /^[!#$%&'*+^_`|~0-9A-Za-z.-]+$/;

/** Returns a scheme; undefined for a type that no connector can hold, which is reported. */
export function readScheme(context: Import, name: string, node: Node): Scheme | undefined {
  const title = plainText(name.replaceAll(/[_-]+/g, ' '), 60) ?? 'Credential';
  switch (textAt(node, 'type')) {
    case 'basic':
      return { name, type: 'basic', written: { type: 'basic', title }, field: undefined, title, apply: {} };
    case 'http':
      return httpScheme(context, name, { node, title });
    case 'apiKey':
      return keyScheme(context, name, { node, title });
    case 'oauth2':
      return oauthScheme(context, name, { node, title });
    case 'openIdConnect':
      context.reporter.approximate(placeOf(node), 'OpenID Connect is a token that a person enters');
      return bearerScheme(name, title);
    default:
      context.reporter.approximate(
        placeOf(node),
        'the security scheme is of a kind that connectors do not have',
      );
      return undefined;
  }
}

interface Source {
  node: Node;
  title: string;
}

function httpScheme(context: Import, name: string, { node, title }: Source): Scheme | undefined {
  const scheme = textAt(node, 'scheme')?.toLowerCase();
  if (scheme === 'basic')
    return { name, type: 'basic', written: { type: 'basic', title }, field: undefined, title, apply: {} };
  if (scheme === 'bearer') return bearerScheme(name, title);
  context.reporter.approximate(placeOf(node), `the HTTP scheme ${scheme ?? ''} is not supported`);
  return undefined;
}

function bearerScheme(name: string, title: string): Scheme {
  const field = credentialField(name);
  return {
    name,
    type: 'bearer',
    written: { type: 'bearer', title },
    field,
    title,
    apply: { headers: { Authorization: `Bearer {${field}}` } },
  };
}

function keyScheme(context: Import, name: string, { node, title }: Source): Scheme | undefined {
  const place = textAt(node, 'in');
  const parameter = textAt(node, 'name');
  const usable = parameter !== undefined && (place === 'query' || HEADER_NAME.test(parameter));
  if (!usable || !['header', 'query', 'cookie'].includes(place ?? '')) {
    context.reporter.approximate(placeOf(node), 'the API key has no name or place that a connector can send');
    return undefined;
  }
  const field = credentialField(name);
  const common = { name, field, title, in: place ?? '', parameter };
  if (place === 'cookie')
    return {
      ...common,
      type: undefined,
      written: {},
      apply: { headers: { Cookie: `${parameter}={${field}}` } },
    };
  const places =
    place === 'query' ? { query: { [parameter]: `{${field}}` } } : { headers: { [parameter]: `{${field}}` } };
  return {
    ...common,
    type: 'api_key',
    written: { type: 'api_key', title, in: place, name: parameter },
    apply: places,
  };
}

function credentialField(name: string): string {
  return fieldNameOf(name).slice(0, 60);
}

/** Chooses the flow in which a person consents, else that of a client, else a token that a person enters. */
function oauthScheme(context: Import, name: string, { node, title }: Source): Scheme | undefined {
  const flows = flowsOf(node);
  const code = flows.get('authorizationCode') ?? flows.get('accessCode');
  const client = flows.get('clientCredentials') ?? flows.get('application');
  const authorizeUrl = code && address(context, code, 'authorizationUrl');
  const tokenUrl = code && address(context, code, 'tokenUrl');
  const apply = { headers: { Authorization: 'Bearer {accessToken}' } };
  if (authorizeUrl !== undefined && tokenUrl !== undefined) {
    const refreshUrl = code && address(context, code, 'refreshUrl');
    const written = {
      type: 'oauth2',
      title,
      authorizeUrl,
      tokenUrl,
      ...(refreshUrl === undefined ? {} : { refreshUrl }),
    };
    return { name, type: 'oauth2', written, field: undefined, title, apply };
  }
  const clientTokenUrl = client && address(context, client, 'tokenUrl');
  if (clientTokenUrl !== undefined) {
    const written = { type: 'oauth2_client_credentials', title, tokenUrl: clientTokenUrl };
    return { name, type: 'oauth2_client_credentials', written, field: undefined, title, apply };
  }
  const what = [...flows.keys()].join(', ') || 'no flow';
  context.reporter.approximate(placeOf(node), `OAuth by ${what} is a token that a person enters`);
  return bearerScheme(name, title);
}

/** Returns the flows by name; Swagger 2.0 has one, as members of the scheme itself. */
function flowsOf(node: Node): Map<string, Node> {
  const flow = textAt(node, 'flow');
  if (flow !== undefined) return new Map([[flow, node]]);
  return new Map(entriesOf(memberOf(node, 'flows')));
}

/** Returns an address of a flow, relative ones against the server's; undefined where a secret would travel in clear. */
function address(context: Import, flow: Node, name: string): string | undefined {
  const text = textAt(flow, name)?.trim();
  if (text === undefined) return undefined;
  const base = textAt(memberOf(memberOf(context.documents.root, 'servers'), 0), 'url');
  if (!URL.canParse(text, base)) return undefined;
  const url = new URL(text, base);
  const isSafe = url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
  return isSafe && !url.username && !/[{}]/.test(text) ? url.href : undefined;
}
