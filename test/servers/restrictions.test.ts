import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { GatehouseError } from '../../src/lib/errors.ts';
import type { Action } from '../../src/connectors/catalog.ts';
import type { Effect } from '../../src/connectors/effects.ts';
import { buildCatalog } from '../support/build-catalog.ts';
import { assertCoherent, decide, type Restrictions } from '../../src/servers/restrictions.ts';
import { IS_FULL } from '../support/full.ts';

describe('an action', () => {
  const actions = (restrictions: Restrictions['actions']) => decide({ actions: restrictions });

  test('an action is allowed without rules', () => {
    expect(decide({}).named('shop', 'list_orders')).toBeUndefined();
    expect(decide({ actions: {} }).named('shop', 'list_orders')).toBeUndefined();
  });

  test('an action is denied by an allowlist that does not name it, also by an empty one', () => {
    const rule = 'actions.allowedActions';
    expect(actions({ mode: 'allowlist', allowedActions: ['get_order'] }).named('shop', 'list_orders')).toBe(
      rule,
    );
    expect(actions({ mode: 'allowlist', allowedActions: [] }).named('shop', 'list_orders')).toBe(rule);
    expect(actions({ mode: 'allowlist' }).named('shop', 'list_orders')).toBe(rule);
    expect(actions({ allowedActions: [] }).named('shop', 'list_orders')).toBe(rule);
  });

  test('an action is denied only by a blocklist that names it', () => {
    const blocked = actions({ mode: 'blocklist', blockedActions: ['list_orders'] });
    expect(blocked.named('shop', 'list_orders')).toBe('actions.blockedActions');
    expect(blocked.named('shop', 'get_order')).toBeUndefined();
    expect(actions({ mode: 'blocklist' }).named('shop', 'list_orders')).toBeUndefined();
  });

  test('a list without a mode has the mode of its name', () => {
    expect(actions({ allowedActions: ['get_order'] }).named('shop', 'list_orders')).toBeDefined();
    expect(actions({ blockedActions: ['list_orders'] }).named('shop', 'list_orders')).toBeDefined();
    expect(actions({ blockedActions: ['list_orders'] }).named('shop', 'get_order')).toBeUndefined();
  });

  test.each([
    ['list_orders', 'any', 'list_orders', true],
    ['shop.list_orders', 'shop', 'list_orders', true],
    ['shop.list_orders', 'other', 'list_orders', false],
    ['shop.*', 'shop', 'anything', true],
    ['shop.*', 'shopping', 'anything', false],
    ['*.list_*', 'shop', 'list_orders', true],
    ['*.list_*', 'shop', 'enlist_orders', false],
    ['list_*', 'shop', 'list_orders', true],
    ['*_orders', 'shop', 'list_orders', true],
    ['*', 'shop', 'list_orders', true],
    ['l*t*s', 'shop', 'list_orders', true],
    ['l*x*s', 'shop', 'list_orders', false],
    ['list_orders*orders', 'shop', 'list_orders', false],
    ['LIST_ORDERS', 'shop', 'list_orders', false],
    ['shop.list.orders', 'shop', 'list_orders', false],
  ])('pattern %s names %s.%s: %s', (pattern, connectorId, actionId, named) => {
    const decision = actions({ allowedActions: [pattern] });
    expect(decision.named(connectorId, actionId) === undefined).toBe(named);
  });

  test('an action is denied when its connector is blocked', () => {
    const decision = decide({ connectors: { blockedIds: ['shop'] } });
    expect(decision.named('shop', 'list_orders')).toBe('connectors.blockedIds');
    expect(decision.named('mail', 'send')).toBeUndefined();
  });
});

describe('effects', () => {
  const read = shopAction('GET');
  const write = shopAction('POST');
  const destructive = shopAction('DELETE');

  test('effects that are not listed are denied, unless the list is absent or full', () => {
    const only = (...allowed: Effect[]) => decide({ effects: { allowed } });
    expect(only('read').action(read)).toBeUndefined();
    expect(only('read').action(write)).toBe('effects.allowed');
    expect(only('read', 'write').action(destructive)).toBe('effects.allowed');
    expect(only().action(read)).toBe('effects.allowed');
    expect(decide({ effects: {} }).action(destructive)).toBeUndefined();
    const whole = only('read', 'write', 'destructive');
    expect([whole.action(destructive), whole.active]).toEqual([undefined, false]);
    expect(only('read').active).toBe(true);
  });

  test('effects that one of both sets confirms are confirmed', () => {
    const decision = decide({ confirm: ['destructive'] }, { confirm: ['write'] });
    expect([decision.confirms('read'), decision.confirms('write')]).toEqual([
      undefined,
      'userServerRestrictions.confirm',
    ]);
    expect([decision.confirms('destructive'), decision.active]).toEqual(['confirm', true]);
  });
});

test('the raw call of a connector is allowed only by its exact name', () => {
  const exact: Restrictions = { actions: { allowedActions: ['shop.request'] } };
  const raw = (own: Restrictions, ofEnvironment?: Restrictions) => decide(own, ofEnvironment).raw('shop');
  expect(raw(exact)).toBeUndefined();
  for (const own of [
    {},
    { actions: { allowedActions: ['shop.*', 'request'] } },
    { actions: { blockedActions: ['a'] } },
  ])
    expect(raw(own)).toBe('actions.allowedActions');
  expect(raw({ ...exact, connectors: { blockedIds: ['shop'] } })).toBe('connectors.blockedIds');
  // The environment's rules for servers of users must name it too, where they restrict actions.
  const environment = (actions: Restrictions['actions']) => raw(exact, { actions });
  expect(environment(undefined)).toBeUndefined();
  expect(environment({ allowedActions: ['shop.request'] })).toBeUndefined();
  for (const actions of [{ allowedActions: ['shop.*'] }, { blockedActions: ['shop.delete_order'] }])
    expect(environment(actions)).toBe('userServerRestrictions.actions.allowedActions');
});

test('a call without a user is denied by a users allowlist only', () => {
  expect(decide({ users: { allowedIds: ['usr_1'] } }).user(undefined)).toBe('users.allowedIds');
  expect(decide({ users: { allowedIds: ['usr_1'] } }).user('usr_1')).toBeUndefined();
  expect(decide({ users: { blockedIds: ['usr_1'] } }).user(undefined)).toBeUndefined();
});

test('the rules of a server and of its environment both apply', () => {
  const decision = decide(
    { connectors: { allowedIds: ['shop', 'mail'] } },
    { connectors: { blockedIds: ['mail'] } },
  );
  expect(decision.connector('shop')).toBeUndefined();
  expect(decision.connector('mail')).toBe('userServerRestrictions.connectors.blockedIds');
  expect(decision.connector('crm')).toBe('connectors.allowedIds');
});

test('restrictions are active when some rule can deny something', () => {
  expect(decide({}).active).toBe(false);
  expect(decide({ actions: { mode: 'blocklist', blockedActions: [] } }).active).toBe(false);
  expect(decide({ actions: { mode: 'allowlist' } }).active).toBe(true);
  expect(decide({ users: { blockedIds: ['usr_1'] } }).active).toBe(true);
});

test.each([
  [{ connectors: { mode: 'allowlist', blockedIds: ['a'] } }, 'restrictions.connectors.blockedIds'],
  [{ actions: { mode: 'blocklist', allowedActions: ['a'] } }, 'restrictions.actions.allowedActions'],
  [{ users: { allowedIds: ['a'], blockedIds: ['b'] } }, 'restrictions.users.mode'],
] satisfies [Restrictions, string][])('contradictory restrictions %j name %s', (restrictions, field) => {
  expect(() => assertCoherent(restrictions)).toThrow(GatehouseError);
  expect(() => assertCoherent(restrictions)).toThrow(field);
});

test('an entry with more than four stars is rejected by its position', () => {
  const check = (entry: string) => () => assertCoherent({ actions: { blockedActions: ['*', entry] } });
  expect(check('a*b*.*c*')).not.toThrow();
  expect(check('a*b*.*c*d*')).toThrow('restrictions.actions.blockedActions.1: must hold at most 4 `*`');
});

test('an empty list of the other mode is accepted', () => {
  expect(() =>
    assertCoherent({ connectors: { mode: 'allowlist', allowedIds: ['a'], blockedIds: [] } }),
  ).not.toThrow();
});

test('property: a blocklist denies exactly what the same list as an allowlist allows', () => {
  const pattern = fc.stringMatching(/^[a-c*]{1,6}(\.[a-c*]{1,6})?$/);
  const id = fc.stringMatching(/^[a-c]{1,8}$/);
  fc.assert(
    fc.property(fc.array(pattern, { minLength: 1 }), id, id, (list, connectorId, actionId) => {
      const allowed =
        decide({ actions: { allowedActions: list } }).named(connectorId, actionId) === undefined;
      const blocked =
        decide({ actions: { blockedActions: list } }).named(connectorId, actionId) === undefined;
      expect(allowed).toBe(!blocked);
    }),
    { numRuns: IS_FULL ? 1000 : 200 },
  );
});

test('property: entries match the same names as their regular expressions', () => {
  const pattern = fc.stringMatching(/^([abc*]{0,6}\.)?[abc*]{1,8}$/);
  const id = fc.stringMatching(/^[abc]{1,8}$/);
  const asRegExp = (part: string) => new RegExp(`^${part.replaceAll('*', '.*')}$`);
  const names = (entry: string, connectorId: string, actionId: string) => {
    const [connectorPart, actionPart] = entry.includes('.') ? entry.split('.') : ['*', entry];
    return asRegExp(connectorPart ?? '').test(connectorId) && asRegExp(actionPart ?? '').test(actionId);
  };
  fc.assert(
    fc.property(fc.array(pattern, { minLength: 1 }), id, fc.array(id), (entries, connectorId, actionIds) => {
      const decision = decide({ actions: { blockedActions: entries } });
      for (const actionId of actionIds) {
        const expected = entries.some((entry) => names(entry, connectorId, actionId));
        expect(decision.named(connectorId, actionId) !== undefined).toBe(expected);
      }
    }),
    { numRuns: IS_FULL ? 1000 : 200 },
  );
});

function shopAction(method: string): Action {
  const text = `id: shop
name: Shop
description: A shop.
categories: [commerce]
website: https://shop.example.com
sources: [{title: The tests themselves, read: 2026-03-01}]
baseUrl: https://api.example.com
authentication: [{type: none}]
actions:
  touch_order: {description: Touches an order., request: ${method} /orders}
`;
  const action = buildCatalog([{ path: 'connector.yaml', text }]).action(
    'development',
    'shop',
    'touch_order',
  );
  if (!action) throw new Error('no action');
  return action;
}
