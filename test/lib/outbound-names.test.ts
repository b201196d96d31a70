import { createHook } from 'node:async_hooks';
import type { LookupAddress } from 'node:dns';
import { expect, test } from 'vitest';
import { SECOND } from '../../src/lib/clock.ts';
import { shareLookups, type Lookup } from '../../src/outbound/outbound-names.ts';
import { createOutbound } from '../../src/outbound/outbound.ts';
import { manualClock } from '../support/clock.ts';
import { startService } from '../support/service.ts';

type Outcome = string | LookupAddress[];

/** Returns a resolver that answers for a name when the test says so. */
function heldNames() {
  const clock = manualClock();
  const asked: string[] = [];
  const open = new Map<string, (outcome: Outcome) => void>();
  const lookup: Lookup = (name, _options, callback) => {
    asked.push(name);
    open.set(name, (outcome) => {
      if (typeof outcome !== 'string') callback(null, outcome);
      else callback(Object.assign(new Error(outcome), { code: outcome }), []);
    });
  };
  const shared = shareLookups(lookup, clock);
  return {
    clock,
    /** Names that the resolver was asked for, in order. */
    asked,
    shared,
    look: (name: string): Promise<Outcome> =>
      new Promise((resolve) => shared(name, { all: true }, (error, found) => resolve(error?.code ?? found))),
    answer(name: string, outcome: Outcome = FOUND) {
      const told = open.get(name);
      open.delete(name);
      told?.(outcome);
    },
  };
}

const FOUND = [{ address: '127.0.0.1', family: 4 }];
const NOBODY = 'EAI_AGAIN';
const names = (count: number, kind: string) => Array.from({ length: count }, (_, n) => `${kind}${n}.example`);

test('concurrent look-ups of a name share the answer, and a later one asks again', async () => {
  const { asked, look, answer } = heldNames();
  const both = [look('one.example'), look('one.example')];
  expect(asked).toEqual(['one.example']);
  answer('one.example');
  expect(await Promise.all(both)).toEqual([FOUND, FOUND]);
  const moved = [{ address: '10.0.0.1', family: 4 }];
  const later = look('one.example');
  answer('one.example', moved);
  expect(await later).toEqual(moved);
  expect(asked).toEqual(['one.example', 'one.example']);
});

test('a name that failed fails at once for two seconds', async () => {
  const { clock, asked, look, answer } = heldNames();
  const first = look('gone.example');
  answer('gone.example', 'ENOTFOUND');
  expect(await first).toBe('ENOTFOUND');
  clock.advance(SECOND);
  expect(await look('gone.example')).toBe('ENOTFOUND');
  expect(asked).toEqual(['gone.example']);
  clock.advance(SECOND);
  const later = look('gone.example');
  answer('gone.example');
  expect(await later).toEqual(FOUND);
});

test('a look-up unanswered for ten seconds fails at once and takes no second thread', async () => {
  const { clock, asked, look, answer } = heldNames();
  void look('silent.example');
  clock.advance(10 * SECOND);
  expect(await look('silent.example')).toBe(NOBODY);
  expect(asked).toEqual(['silent.example']);
  answer('silent.example');
  const later = look('silent.example');
  answer('silent.example');
  expect(await later).toEqual(FOUND);
});

test('a name known to answer is looked up at once, however many names are silent', async () => {
  const { asked, look, answer } = heldNames();
  const known = look('known.example');
  answer('known.example');
  await known;
  asked.length = 0;
  for (const name of names(20, 'silent')) void look(name);
  expect(asked).toEqual(names(6, 'silent'));
  const again = look('known.example');
  answer('known.example');
  expect(await again).toEqual(FOUND);
  // The next look-up in the queue begins when one is done.
  answer('silent3.example', NOBODY);
  expect(asked.slice(6)).toEqual(['known.example', 'silent6.example']);
});

test('names that failed before leave threads to new names', async () => {
  const { clock, asked, look, answer } = heldNames();
  const failing = names(5, 'failing');
  const first = failing.map(look);
  for (const name of failing) answer(name, NOBODY);
  await Promise.all(first);
  clock.advance(5 * SECOND);
  asked.length = 0;
  for (const name of failing) void look(name);
  expect(asked).toEqual(failing.slice(0, 2));
  const fresh = look('new.example');
  answer('new.example');
  expect(await fresh).toEqual(FOUND);
  answer('failing0.example');
  expect(asked).toEqual(['failing0.example', 'failing1.example', 'new.example', 'failing2.example']);
});

test('a name that answers slowly counts as doubtful', async () => {
  const { clock, asked, look, answer } = heldNames();
  const slow = look('slow.example');
  clock.advance(2 * SECOND);
  answer('slow.example');
  await slow;
  asked.length = 0;
  for (const name of names(6, 'silent')) void look(name);
  void look('slow.example');
  expect(asked).toEqual(names(6, 'silent'));
});

test('names without an answer leave a thread to a name that still answers', async () => {
  const { clock, asked, look, answer } = heldNames();
  const silent = names(20, 'silent');
  for (const name of [...silent, 'known.example']) {
    const first = look(name);
    answer(name);
    await first;
    clock.advance(1);
  }
  asked.length = 0;
  for (const name of [...silent, 'known.example']) void look(name);
  expect(asked).toEqual(silent.slice(0, 6));
  // Before they are late, the silent names still count as answering. Then the name that answered last goes first.
  await expect.poll(() => asked.slice(6)).toEqual(['known.example']);
  clock.advance(1);
  answer('known.example');
  expect(asked.slice(7)).toEqual(['silent19.example']);
  // This works for each further look-up.
  for (let n = 0; n < 3; n++) {
    const again = look('known.example');
    answer('known.example');
    expect(await again).toEqual(FOUND);
  }
  expect(asked.length).toBe(11);
});

test('a look-up that waited for ten seconds is dropped', async () => {
  const { clock, asked, look, answer } = heldNames();
  const waiting = names(9, 'silent').map(look);
  clock.advance(10 * SECOND);
  answer('silent0.example', NOBODY);
  expect(await Promise.all(waiting.slice(6))).toEqual([NOBODY, NOBODY, NOBODY]);
  expect(asked).toEqual(names(6, 'silent'));
});

test('a shared answer is checked for the port of each call', async () => {
  const { shared, asked, answer } = heldNames();
  const outbound = createOutbound({
    allowedNetworks: [{ kind: 'host', host: 'inside.example', port: 9 }],
    allowPrivateNetwork: false,
    lookup: shared,
  });
  const reasonAt = (port: number) =>
    outbound
      .request({ method: 'GET', url: `https://inside.example:${port}/` })
      .catch((error) => error.details.reason);
  const both = [reasonAt(9), reasonAt(10)];
  await expect.poll(() => asked).toEqual(['inside.example']);
  answer('inside.example');
  expect(await Promise.all(both)).toEqual(['refused', 'blocked_address']);
  await outbound.close();
});

test('a service looks a name that failed up only once', async () => {
  let lookups = 0;
  const hook = createHook({ init: (_id, type) => void (lookups += type === 'GETADDRINFOREQWRAP' ? 1 : 0) });
  await using service = await startService();
  hook.enable();
  for (let n = 0; n < 2; n++) {
    await expect(
      service.context.outbound.request({ method: 'GET', url: 'https://no-such-name.invalid/' }),
    ).rejects.toMatchObject({ details: { reason: 'dns' } });
  }
  hook.disable();
  expect(lookups).toBe(1);
});
