import type { ConnectorActions } from '../../connectors/catalog.ts';
import { isUnifiedScope } from '../../connectors/event-scopes.ts';
import { iconPath } from '../../connectors/icon.ts';
import { authenticationMetadata } from '../../credentials/metadata.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { appResources, isAppResource, readAppResource } from './app-resources.ts';
import { pageAt } from '../answers/cursor.ts';
import { eventResources, eventScopeOf, isScopeShown, recentEvents } from '../answers/events.ts';
import { fileAddress, FILE_TEMPLATE, readFilePage } from './file-resource.ts';
import { readResultPage, sourceRule } from '../scope/large-results.ts';
import { isRemoteUri, readRemoteResource, remoteResource, remoteResources } from './remote-context.ts';
import { THIRD_PARTY } from '../answers/third-party.ts';
import { restricted } from '../../servers/access.ts';
import type { ToolScope } from '../scope/tool.ts';
import { readView, viewResources } from '../scope/view-document.ts';

const PER_PAGE = 100;
const JSON_TYPE = 'application/json';

/** Returns a page of resources/list: the catalogue as this server shows it. */
export async function listResources(scope: ToolScope, cursor: string | undefined) {
  const { visible, context } = scope;
  const all = [
    {
      uri: 'svc://connectors',
      name: 'connectors',
      title: 'Connectors',
      description: 'The apps of this server.',
      mimeType: JSON_TYPE,
    },
    ...visible.connectors.map(({ connector }) => ({
      uri: `svc://connectors/${connector.connectorId}`,
      name: connector.connectorId,
      title: connector.name,
      description: connector.description,
      mimeType: JSON_TYPE,
      icons: [
        {
          src: context.publicUrl + iconPath(connector),
          mimeType: 'image/svg+xml',
          sizes: ['any'],
        },
      ],
    })),
    ...eventResources(scope),
    ...appResources(scope).fixed.map(({ address, ...rest }) => ({ uri: address, ...rest })),
    ...(await remoteResources(scope)).resources,
    ...viewResources(scope),
  ];
  const { page, nextCursor } = await pageAt(scope, { list: 'resources', all, cursor, size: PER_PAGE });
  return { resources: [...page], ...(nextCursor === undefined ? {} : { nextCursor }) };
}

/** Returns a page of resources/templates/list. */
export async function listResourceTemplates(scope: ToolScope, cursor: string | undefined) {
  const brought = appResources(scope).templates.map(({ address, ...rest }) => ({
    uriTemplate: address,
    ...rest,
  }));
  const { page, nextCursor } = await pageAt(scope, {
    list: 'templates',
    all: [...RESOURCE_TEMPLATES, ...brought, ...(await remoteResources(scope)).templates],
    cursor,
    size: PER_PAGE,
  });
  return { resourceTemplates: [...page], ...(nextCursor === undefined ? {} : { nextCursor }) };
}

const RESOURCE_TEMPLATES = [
  {
    uriTemplate: 'svc://connectors/{connectorId}',
    name: 'connector',
    title: 'A connector',
    description: 'An app and its actions.',
    mimeType: JSON_TYPE,
  },
  {
    uriTemplate: 'svc://connectors/{connectorId}/actions/{actionId}',
    name: 'action',
    title: 'An action',
    description: 'Parameters and answers of an action, as JSON Schema.',
    mimeType: JSON_TYPE,
  },
  {
    uriTemplate: 'svc://events/{+scope}',
    name: 'events',
    title: 'Recent events',
    description:
      'Recent events in the accounts of the user, by scope: a unified model such as commerce/orders, or an event source of ' +
      'an app such as slack/message.posted.',
    mimeType: JSON_TYPE,
  },
  {
    uriTemplate: 'svc://results/{resultId}{?page}',
    name: 'result',
    title: 'A large result',
    description: 'A page of a result that was too large to inline, from page 1 on.',
    mimeType: JSON_TYPE,
  },
  FILE_TEMPLATE,
];

/**
 * Checks that the caller can read a resource, and that its changes are reported. It calls no app. For a resource of a
 * remote MCP server, it subscribes there. @throws as readResource
 */
export async function assertFollowed(scope: ToolScope, uri: string): Promise<void> {
  if (isRemoteUri(uri)) {
    if (!remoteResource(scope.visible, uri)) throw resourceNotFound(uri);
    await scope.follow(uri);
    return;
  }
  if (uri.startsWith('svc:')) await readResource(scope, uri);
  else if (!isAppResource(scope, uri)) throw resourceNotFound(uri);
}

/** Returns the content of a resource. @throws GatehouseError `not_found` (-32002), `restricted`. */
export async function readResource(scope: ToolScope, uri: string) {
  const view = readView(scope, uri);
  if (view) return { contents: [view] };
  if (!uri.startsWith('svc:')) {
    const found = await readAppResource(scope, uri);
    if (found) return { contents: [found] };
    throw resourceNotFound(uri);
  }
  if (isRemoteUri(uri)) {
    const found = await readRemoteResource(scope, uri);
    if (found) return { contents: found };
    throw resourceNotFound(uri);
  }
  const result = /^svc:\/\/results\/(res_[0-9A-Za-z]{22})(?:\?page=(\d{1,6}))?$/.exec(uri);
  if (result?.[1]) return readResult(scope, uri, { resultId: result[1], page: Number(result[2] ?? 1) });
  const address = fileAddress(uri);
  if (address) {
    const found = await readFilePage(scope, uri, address);
    if (found) return { contents: [found] };
    throw resourceNotFound(uri);
  }
  const text = await textOf(scope, uri);
  if (text === undefined) throw resourceNotFound(uri);
  const origin = eventScopeOf(uri) ? { _meta: THIRD_PARTY } : {};
  return { contents: [{ uri, mimeType: JSON_TYPE, text, ...origin }] };
}

function resourceNotFound(uri: string): GatehouseError {
  return new GatehouseError('not_found', `There is no resource ${uri.slice(0, 200)}.`, {
    details: { uri: uri.slice(0, 200) },
  });
}

/** Returns a page of a stored result. The caller must still be allowed to run the action that produced it. */
async function readResult(
  { context, grant }: ToolScope,
  uri: string,
  place: { resultId: string; page: number },
) {
  const found = await readResultPage(context, grant, place);
  if (!found) throw resourceNotFound(uri);
  const { text, pages, source } = found;
  const rule = sourceRule(context, grant, source);
  if (rule === 'gone') throw resourceNotFound(uri);
  if (rule !== undefined) throw restricted(uri, rule);
  const origin = source ? THIRD_PARTY : {};
  return {
    contents: [
      {
        uri,
        mimeType: JSON_TYPE,
        text,
        _meta: { 'gatehouse/page': place.page, 'gatehouse/pages': pages, ...origin },
      },
    ],
  };
}

async function textOf(scope: ToolScope, uri: string): Promise<string | undefined> {
  if (uri === 'svc://connectors') {
    return JSON.stringify({ connectors: scope.visible.connectors.map(summaryOf) });
  }
  const events = eventScopeOf(uri);
  if (events && (isUnifiedScope(events) || isScopeShown(scope, events)))
    return recentEvents(scope.context, scope.grant, events);
  const path = /^svc:\/\/connectors\/([a-z0-9-]{1,32})(?:\/actions\/([a-z0-9_]{1,64}))?$/.exec(uri);
  if (!path?.[1]) return undefined;
  const [, connectorId, actionId] = path;
  const { grant, context, visible } = scope;
  const { decision } = grant.live;
  if (actionId !== undefined) {
    const action = context.catalog.action(grant.environment, connectorId, actionId);
    if (!action) return undefined;
    const rule = decision.action(action);
    if (rule) throw restricted(uri, rule);
    const { name, description, effect, list, modelInput, modelOutput } = action;
    return JSON.stringify({
      connectorId,
      actionId,
      name,
      description,
      effect,
      list,
      inputSchema: modelInput,
      outputSchema: modelOutput,
    });
  }
  const found = visible.connectors.find(({ connector }) => connector.connectorId === connectorId);
  if (found) return JSON.stringify(detailOf(found));
  const rule = context.catalog.connector(grant.environment, connectorId) && decision.connector(connectorId);
  if (rule) throw restricted(uri, rule);
  return undefined;
}

function summaryOf({ connector, actions }: ConnectorActions) {
  const { connectorId, name, description, categories } = connector;
  return { connectorId, name, description, categories, actionCount: actions.length };
}

function detailOf(one: ConnectorActions) {
  return {
    ...summaryOf(one),
    website: one.connector.definition.website,
    authentication: authenticationMetadata(one.connector).map(({ type }) => type),
    actions: one.actions.map(({ actionId, name, description, effect, list }) => ({
      actionId,
      name,
      description,
      effect,
      list,
    })),
  };
}
