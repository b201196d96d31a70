import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createKeyRing, KeyError } from '../../src/crypto/key-ring.ts';
import { changeMasterKeys, loadKeyRing } from '../../src/crypto/master-key-file.ts';
import { until } from '../support/until.ts';

const newKey = () => randomBytes(32).toString('base64');

describe('a sealed box', () => {
  const ring = createKeyRing([newKey()]);
  const box = ring.seal('sk_live_123', 'credential|development|usr_1|cred_1');

  test('a sealed box opens with the binding that it was sealed with', () => {
    expect(ring.open(box, 'credential|development|usr_1|cred_1')).toBe('sk_live_123');
  });

  test('a sealed box does not open for another user, credential or environment', () => {
    for (const bound of [
      'credential|production|usr_1|cred_1',
      'credential|development|usr_2|cred_1',
      'credential|development|usr_1|cred_2',
      '',
    ]) {
      expect(() => ring.open(box, bound)).toThrow(KeyError);
    }
  });

  test('a sealed box does not open when any one character is changed', () => {
    for (let at = 0; at < box.length; at++) {
      const changed = box[at] === 'A' ? 'B' : 'A';
      const altered = box.slice(0, at) + changed + box.slice(at + 1);
      expect(() => ring.open(altered, 'credential|development|usr_1|cred_1')).toThrow(KeyError);
    }
  });

  test('a sealed box does not contain the text, and two boxes of one text differ', () => {
    expect(box).not.toContain('sk_live');
    expect(ring.seal('same', 'x')).not.toBe(ring.seal('same', 'x'));
  });
});

test('during a key rotation the first key writes and all keys read', () => {
  const old = newKey();
  const fresh = newKey();
  const before = createKeyRing([old]);
  const rotating = createKeyRing([fresh, old]);
  const after = createKeyRing([fresh]);
  const box = before.seal('text', 'bound');
  expect(rotating.open(box, 'bound')).toBe('text');
  expect(after.open(rotating.seal('text', 'bound'), 'bound')).toBe('text');
  expect(() => after.open(box, 'bound')).toThrow(`needs master key ${before.keyId}`);
});

test.each(['', 'short', `${newKey()}x`, randomBytes(31).toString('base64'), 'ä'.repeat(44)])(
  'the master key %j is refused with the rule',
  (text) => {
    expect(() => createKeyRing([text])).toThrow('is not 32 bytes of base64');
  },
);

describe('the key file', () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'gatehouse-keys-'));
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  test('the key file is made once with mode 0600, and read afterwards', () => {
    const first = loadKeyRing({ home, masterKeys: undefined, masterKeyFile: undefined });
    const second = loadKeyRing({ home, masterKeys: undefined, masterKeyFile: undefined });
    expect(second.keyId).toBe(first.keyId);
    expect(statSync(join(home, 'master.key')).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(home, 'master.key'), 'utf8')).toMatch(/^[A-Za-z0-9+/]{43}=\n$/);
  });

  test('a key file that other users can read is refused with the command that fixes it', () => {
    const path = join(home, 'mine.key');
    writeFileSync(path, newKey());
    chmodSync(path, 0o644);
    expect(() => loadKeyRing({ home, masterKeys: undefined, masterKeyFile: path })).toThrow(
      `chmod 600 ${path}`,
    );
  });

  test.each([0, 7])('a key file that repeats the byte %i is refused, unless a new key seals', (byte) => {
    const weak = Buffer.alloc(32, byte).toString('base64');
    const inVariable = (masterKeys: string[]) => loadKeyRing({ home, masterKeys, masterKeyFile: undefined });
    expect(() => inVariable([weak])).toThrow('The master key is one repeated byte');
    const path = join(home, 'mine.key');
    writeFileSync(path, `${weak}\n`, { mode: 0o600 });
    expect(() => loadKeyRing({ home, masterKeys: undefined, masterKeyFile: path })).toThrow(KeyError);
    const box = createKeyRing([weak]).seal('sk_live_123', 'one');
    expect(inVariable([newKey(), weak]).open(box, 'one')).toBe('sk_live_123');
    expect(() => inVariable([weak, newKey()])).toThrow(KeyError);
  });

  test('a key file that two commands change at once keeps the keys of both', async () => {
    const path = join(home, 'master.key');
    writeFileSync(path, 'first\n');
    const held = Promise.withResolvers<void>();
    const begun: string[] = [];
    const add = (key: string, wait?: Promise<void>) =>
      changeMasterKeys(path, async (keys) => {
        begun.push(key);
        await wait;
        return [key, ...keys];
      });
    const second = add('second', held.promise);
    const third = add('third');
    await until(() => begun.includes('second'));
    held.resolve();
    await Promise.all([second, third]);
    expect(readFileSync(path, 'utf8')).toBe('third\nsecond\nfirst\n');
  });

  test('a key file that is named but missing is not made', () => {
    const path = join(home, 'absent.key');
    expect(() => loadKeyRing({ home, masterKeys: undefined, masterKeyFile: path })).toThrow('Cannot read');
  });
});
