import { FRAMING_HEADERS } from '../lib/http/framing-headers.ts';
import { isJsonObject } from '../lib/json.ts';
import type { ConnectorFile, JsonSchema } from './format/format.ts';
import { graphqlFaults } from './graphql-check.ts';
import { valueFaults } from './schemas/value-lists.ts';
import { parametersOf } from './parameters.ts';
import type { SemanticFault } from './semantics/semantic-fault.ts';
import { propertySchema, refsOf } from './schemas/action-schemas.ts';

/**
 * Returns faults that cost nothing at a start and make a connector worse: unused parts, names without meaning, places
 * that the file's own schemas do not have. It runs when a file is written.
 */
export function checkUse(file: ConnectorFile): SemanticFault[] {
  return [
    ...unusedFaults(file),
    ...accountFaults(file),
    ...headerFaults(file),
    ...schemaFaults(file),
    ...Object.entries(file.actions).flatMap(([id, action]) => [
      ...verbFaults(id, action.internal),
      ...graphqlFaults(file, action, `actions.${id}`),
    ]),
  ];
}

function unusedFaults({ schemas, paging, actions }: ConnectorFile): SemanticFault[] {
  const used = new Set(refsOf(actions).map((ref) => ref.slice('#/schemas/'.length)));
  const collect = (name: string): void => {
    for (const ref of refsOf(schemas[name])) {
      const other = ref.slice('#/schemas/'.length);
      if (used.has(other)) continue;
      used.add(other);
      collect(other);
    }
  };
  for (const name of used) collect(name);
  const pagings = new Set(Object.values(actions).map((action) => action.paging));
  return [
    ...Object.keys(schemas)
      .filter((name) => !used.has(name))
      .map((name) => ({ path: `schemas.${name}`, rule: 'is used by no action' })),
    ...Object.keys(paging)
      .filter((name) => !pagings.has(name))
      .map((name) => ({ path: `paging.${name}`, rule: 'is used by no action' })),
  ];
}

/** Returns the account's paths that the schema of the probe does not have; they would be empty for every account. */
function accountFaults({ account, probe, actions, schemas }: ConnectorFile): SemanticFault[] {
  const schema = probe === undefined ? undefined : actions[probe]?.response.schema;
  if (!account || !schema) return [];
  return Object.entries(account)
    .filter(([, path]) => path !== undefined && lacks(schema, path.split('.'), schemas))
    .map(([name, path]) => ({
      path: `account.${name}`,
      rule: `"${path}" is nowhere in what the probe "${probe}" answers with (its response.schema)`,
    }));
}

/** Returns whether a schema that names its properties has none at this path. */
function lacks(
  schema: unknown,
  [name, ...rest]: readonly string[],
  schemas: ConnectorFile['schemas'],
): boolean {
  if (name === undefined || !isJsonObject(schema)) return false;
  const ref = schema['$ref'];
  if (typeof ref === 'string')
    return lacks(schemas[ref.slice('#/schemas/'.length)], [name, ...rest], schemas);
  if (/^\d+$/.test(name)) return lacks(schema['items'], rest, schemas);
  const { properties } = schema;
  if (!isJsonObject(properties)) return false;
  return Object.hasOwn(properties, name) ? lacks(properties[name], rest, schemas) : true;
}

/** Returns the headers of a file that the service leaves out, because they frame the request. */
function headerFaults({ headers, actions }: ConnectorFile): SemanticFault[] {
  const places = Object.entries(actions).flatMap(([id, action]) => [
    ...Object.keys(action.fixed?.headers ?? {}).map((name) => [`actions.${id}.fixed.headers.${name}`, name]),
    ...Object.entries(action.headers).map(([name, { as }]) => [`actions.${id}.headers.${name}`, as ?? name]),
  ]);
  return [...Object.keys(headers).map((name) => [`headers.${name}`, name]), ...places]
    .filter(([, name = '']) => FRAMING_HEADERS.includes(name.toLowerCase()))
    .map(([path = '', name]) => ({
      path,
      rule: `"${name}" frames the request, so the service sets it itself`,
    }));
}

/** Returns the parts of schemas that no value fits, and defaults of another type. */
function schemaFaults(file: ConnectorFile): SemanticFault[] {
  const { schemas, actions } = file;
  const parts: [path: string[], schema: JsonSchema][] = [
    ...Object.entries(schemas).map(([name, schema]): [string[], JsonSchema] => [['schemas', name], schema]),
    ...Object.entries(actions).flatMap(([id, action]) => [
      ...parametersOf(action).map(({ place, name, parameter }): [string[], JsonSchema] => [
        ['actions', id, place, name],
        propertySchema(parameter),
      ]),
      [['actions', id, 'response', 'schema'], action.response.schema ?? {}] satisfies [string[], JsonSchema],
    ]),
  ];
  const seen = new Set<string>();
  return parts.flatMap(([path, schema]) =>
    valueFaults(schema, { schemas }).flatMap(({ path: inside, fault }) => {
      const at = [...path, ...inside].join('.');
      if (seen.has(at)) return [];
      seen.add(at);
      return [{ path: at, rule: fault }];
    }),
  );
}

function verbFaults(actionId: string, internal: boolean): SemanticFault[] {
  if (internal || actionId.split('_').some((word) => VERBS.has(word))) return [];
  const rule =
    'names no verb: begin it with what it does, such as list_, get_, create_, update_, delete_ or send_';
  return [{ path: `actions.${actionId}`, rule }];
}

/** Words that describe an action. */
const VERBS = new Set(
  (
    'abort accept acknowledge activate add adjust allocate answer append apply approve archive ask assign ' +
    'associate attach authorize backup ban batch begin block book borrow build buy calculate call cancel capture ' +
    'change charge check checkout clear clone close collect comment commit compare complete compose confirm ' +
    'connect convert copy count create credit deactivate decline decrement delete deliver deploy deposit ' +
    'describe destroy detach disable disassociate disconnect dismiss dispatch donate download draft duplicate ' +
    'edit email enable end enqueue enroll estimate exchange execute expand expire export fail favorite fetch ' +
    'filter finalize find finish fix flag follow force fork forward fulfill generate get give grant hide hire ' +
    'hold import increment index insert inspect install invite invoice issue join kick leave lend like link list ' +
    'load lock log lookup make mark match measure merge message modify monitor move mute notify open order pause ' +
    'pay pin place play poll post preview print process promote provision publish pull purchase purge push put ' +
    'query quote rate react read reassign receive recommend reconcile record redeem refresh refund register ' +
    'reject release remind remove rename render renew rent reopen reorder repeat replace reply report request ' +
    'require rerun reschedule resend reserve reset resize resolve respond restart restore resume retrieve retry ' +
    'return reverse review revoke rollback rotate run save scan schedule search select sell send set share ship ' +
    'show sign simulate skip slow snooze sort split star start stop store submit subscribe summarize suspend ' +
    'swap switch sync synchronize tag take terminate test track trade train transfer transition translate trash ' +
    'trigger turn unarchive unassign unban unblock undelete undo unfollow unfreeze uninstall unlink unlock ' +
    'unmute unpin unpublish unregister unschedule unset unshare unstar unsubscribe untag untrash update upgrade ' +
    'upload upsert use validate verify view void vote wait watch withdraw write'
  ).split(' '),
);
