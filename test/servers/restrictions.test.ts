import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { GatehouseError } from '../../src/lib/errors.ts';
import { assertCoherent, decide, type Restrictions } from '../../src/servers/restrictions.ts';

describe('an action', () => {
  const actions = (restrictions: Restrictions['actions']) => decide({ actions: restrictions });

  test('is allowed where nothing is said', () => {
    expect(decide({}).action('shop', 'list_orders')).toBeUndefined();
    expect(decide({ actions: {} }).action('shop', 'list_orders')).toBeUndefined();
  });

  test('is denied by an allowlist that does not name it, and by an empty or absent one', () => {
    const rule = 'actions.allowedActions';
    expect(actions({ mode: 'allowlist', allowedActions: ['get_order'] }).action('shop', 'list_orders')).toBe(
      rule,
    );
    expect(actions({ mode: 'allowlist', allowedActions: [] }).action('shop', 'list_orders')).toBe(rule);
    expect(actions({ mode: 'allowlist' }).action('shop', 'list_orders')).toBe(rule);
    expect(actions({ allowedActions: [] }).action('shop', 'list_orders')).toBe(rule);
  });

  test('is denied by a blocklist that names it, and by no other', () => {
    const blocked = actions({ mode: 'blocklist', blockedActions: ['list_orders'] });
    expect(blocked.action('shop', 'list_orders')).toBe('actions.blockedActions');
    expect(blocked.action('shop', 'get_order')).toBeUndefined();
    expect(actions({ mode: 'blocklist' }).action('shop', 'list_orders')).toBeUndefined();
  });

  test('a list without a mode is of that mode', () => {
    expect(actions({ allowedActions: ['get_order'] }).action('shop', 'list_orders')).toBeDefined();
    expect(actions({ blockedActions: ['list_orders'] }).action('shop', 'list_orders')).toBeDefined();
    expect(actions({ blockedActions: ['list_orders'] }).action('shop', 'get_order')).toBeUndefined();
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
    expect(decision.action(connectorId, actionId) === undefined).toBe(named);
  });

  test('is denied when its connector is', () => {
    const decision = decide({ connectors: { blockedIds: ['shop'] } });
    expect(decision.action('shop', 'list_orders')).toBe('connectors.blockedIds');
    expect(decision.action('mail', 'send')).toBeUndefined();
  });
});

test('no user is denied under a users allowlist and allowed under a blocklist', () => {
  expect(decide({ users: { allowedIds: ['usr_1'] } }).user(undefined)).toBe('users.allowedIds');
  expect(decide({ users: { allowedIds: ['usr_1'] } }).user('usr_1')).toBeUndefined();
  expect(decide({ users: { blockedIds: ['usr_1'] } }).user(undefined)).toBeUndefined();
});

test('several sets mean all of them', () => {
  const decision = decide(
    { connectors: { allowedIds: ['shop', 'mail'] } },
    { connectors: { blockedIds: ['mail'] } },
  );
  expect(decision.connector('shop')).toBeUndefined();
  expect(decision.connector('mail')).toBe('connectors.blockedIds');
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

test('a list of the other mode may be there when it is empty', () => {
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
        decide({ actions: { allowedActions: list } }).action(connectorId, actionId) === undefined;
      const blocked =
        decide({ actions: { blockedActions: list } }).action(connectorId, actionId) === undefined;
      expect(allowed).toBe(!blocked);
    }),
    { numRuns: 1000 },
  );
});
