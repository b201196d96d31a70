import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAddressGuard, type AllowedAddress } from '../../src/lib/addresses.ts';
import { HOSTILE, PUBLIC, words } from '../support/addresses.ts';
import { createOutbound, type Outbound } from '../../src/outbound/outbound.ts';
import type { Lookup } from '../../src/outbound/outbound-names.ts';

describe('the guard', () => {
  const strict = createAddressGuard([], false);

  test(`the guard of addresses recognises ${PUBLIC.length} forms of public addresses`, () => {
    expect(PUBLIC.length).toBeGreaterThanOrEqual(50);
    const blocked = PUBLIC.filter((host) => !strict.allowsHost(new URL(`https://${host}/`).hostname, 443));
    expect(blocked).toEqual([]);
    const literals = PUBLIC.map((host) => new URL(`https://${host}/`).hostname.replace(/^\[|\]$/g, ''));
    const peers = literals.filter((text) => /^[\d.]+$/.test(text) || text.includes(':'));
    expect(peers.filter((peer) => !strict.allowsPeer(peer, 'api.example.com', 443))).toEqual([]);
  });

  test('no allowance opens the addresses that hand out credentials, in any spelling', () => {
    const everything: AllowedAddress[] = [
      { kind: 'cidr', address: '0.0.0.0', bits: 0 },
      { kind: 'cidr', address: '::', bits: 0 },
      { kind: 'host', host: '169.254.169.254', port: 80 },
      { kind: 'host', host: '[64:ff9b::a9fe:a9fe]', port: 80 },
      { kind: 'host', host: 'inside.example.com', port: 80 },
    ];
    const open = createAddressGuard(everything, true);
    const metadata = words(`
      169.254.169.254 100.100.100.200 168.63.129.16 169.254.170.2 fd00:ec2::254 fd20:ce::254 ::ffff:169.254.169.254
      ::169.254.169.254 64:ff9b::a9fe:a9fe 64:ff9b:1::a9fe:a9fe 2002:a9fe:a9fe::1 2001:0:1:1::5601:5601 ::ffff:0:a9fe:a9fe
    `);
    expect(metadata.filter((text) => open.allowsPeer(text, 'inside.example.com', 80))).toEqual([]);
    expect(metadata.filter((text) => open.allowsHost(text.includes(':') ? `[${text}]` : text, 80))).toEqual(
      [],
    );
    expect(open.allowsHost('10.0.0.1', 80)).toBe(true);
  });

  test('the guard allows the addresses that the operator names and no others', () => {
    const guard = createAddressGuard(
      [
        { kind: 'cidr', address: '10.1.0.0', bits: 16 },
        { kind: 'host', host: 'crm.internal', port: 8443 },
        { kind: 'host', host: '192.168.7.7', port: 8080 },
      ],
      false,
    );
    expect(guard.allowsHost('10.1.2.3', 443)).toBe(true);
    expect(guard.allowsHost('10.2.0.1', 443)).toBe(false);
    expect(guard.allowsPeer('10.9.9.9', 'crm.internal', 8443)).toBe(true);
    expect(guard.allowsPeer('10.9.9.9', 'crm.internal', 443)).toBe(false);
    expect(guard.allowsPeer('10.9.9.9', 'other.internal', 8443)).toBe(false);
    expect(guard.allowsHost('192.168.7.7', 8080)).toBe(true);
    expect(guard.allowsHost('192.168.7.7', 8081)).toBe(false);
    expect(guard.allowsPlain('192.168.7.7', 8080)).toBe(true);
    expect(guard.allowsPlain('example.com', 80)).toBe(false);
  });

  test('the guard of addresses decides about a NAT64 address by the IPv4 address inside', () => {
    const guard = createAddressGuard(
      [
        { kind: 'cidr', address: '10.1.0.0', bits: 16 },
        { kind: 'cidr', address: '64:ff9b::', bits: 96 },
      ],
      false,
    );
    const peer = (text: string) => guard.allowsPeer(text, 'api.example.com', 443);
    expect(['64:ff9b::5db8:d822', '64:ff9b::a01:203'].map(peer)).toEqual([true, true]);
    expect(['64:ff9b::a02:1', '64:ff9b::7f00:1', '64:ff9b::a9fe:a9fe'].map(peer)).toEqual([
      false,
      false,
      false,
    ]);
  });

  test('the guard in development allows private networks, and plain http to loopback', () => {
    const guard = createAddressGuard([], true);
    for (const host of ['127.0.0.1', '[::1]', '10.0.0.1', '192.168.0.1', '[fd00::1]']) {
      expect(guard.allowsHost(host, 443)).toBe(true);
    }
    for (const host of ['0.0.0.0', '224.0.0.1', '[64:ff9b::7f00:1]'])
      expect(guard.allowsHost(host, 443)).toBe(false);
    expect(guard.allowsPlain('127.0.0.1', 80)).toBe(true);
    expect(guard.allowsPlain('localhost', 80)).toBe(true);
    expect(guard.allowsPlain('10.0.0.1', 80)).toBe(false);
  });
});

describe('nothing connects', () => {
  let connections = 0;
  const canary = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  let port = 0;
  const open: Outbound[] = [];
  const outbound = (lookup?: Lookup, allowedNetworks: AllowedAddress[] = []) => {
    const one = createOutbound({
      allowedNetworks,
      allowPrivateNetwork: false,
      ...(lookup ? { lookup } : {}),
    });
    open.push(one);
    return one;
  };

  beforeAll(async () => {
    await new Promise<void>((resolve) => canary.listen(0, '::', resolve));
    const address = canary.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    port = address.port;
  });
  afterAll(async () => {
    await Promise.all(open.map((one) => one.close()));
    await new Promise((resolve) => canary.close(resolve));
  });

  test(`no request connects by any of ${HOSTILE.length} hostile literals`, async () => {
    expect(HOSTILE.length).toBeGreaterThanOrEqual(150);
    const strict = outbound();
    const through: string[] = [];
    for (const scheme of ['https', 'http']) {
      for (const host of HOSTILE) {
        const refused = await strict
          .request({ method: 'GET', url: `${scheme}://${host}:${port}/`, timeoutMs: 3000 })
          .then(
            () => 'answered',
            (error: unknown) => error,
          );
        const reason = refused instanceof Error && 'details' in refused ? refused.details : refused;
        // Not every resolver knows every spelling of localhost.
        const isName = /localhost/.test(
          URL.canParse(`https://${host}/`) ? new URL(`https://${host}/`).host : '',
        );
        const isBlocked = (isName ? /blocked_address|"dns"/ : /blocked_address/).test(
          JSON.stringify(reason) ?? '',
        );
        if (!isBlocked && URL.canParse(`${scheme}://${host}/`))
          through.push(`${scheme} ${host} ${String(refused)}`);
      }
    }
    expect(through).toEqual([]);
    expect(connections).toBe(0);
  });

  test('no request connects by a user name, another scheme or no address', async () => {
    const strict = outbound();
    for (const url of [
      `https://user@127.0.0.1:${port}/`,
      `https://example.com:443@127.0.0.1:${port}/`,
      `https://example.com%2f@127.0.0.1:${port}/`,
      'file:///etc/passwd',
      'gopher://127.0.0.1/',
      'unix:/var/run/docker.sock',
      'data:text/plain,x',
      'not an address',
      '',
    ]) {
      await expect(strict.request({ method: 'GET', url })).rejects.toMatchObject({
        code: 'invalid_request',
      });
    }
    expect(connections).toBe(0);
  });

  test('no request connects to a name with one forbidden address among its answers', async () => {
    for (const bad of [
      '127.0.0.1',
      '::1',
      '10.0.0.1',
      '169.254.169.254',
      '::ffff:127.0.0.1',
      '64:ff9b::7f00:1',
    ]) {
      const one = outbound(answering([['8.8.8.8', bad]]));
      const call = one.request({
        method: 'GET',
        url: `https://rebind.example.com:${port}/`,
        timeoutMs: 3000,
      });
      await expect(call).rejects.toMatchObject({
        code: 'upstream_failed',
        details: { reason: 'blocked_address' },
      });
    }
    expect(connections).toBe(0);
  });

  test('no request connects to a name that resolves to another address between calls', async () => {
    const rebinding = answering([['10.255.255.1'], ['127.0.0.1']]);
    const one = outbound(rebinding, [{ kind: 'cidr', address: '10.255.255.0', bits: 24 }]);
    const url = `https://rebind.example.com:${port}/`;
    await expect(one.request({ method: 'GET', url, timeoutMs: 300 })).rejects.toMatchObject({
      code: 'upstream_failed',
    });
    await expect(one.request({ method: 'GET', url, timeoutMs: 3000 })).rejects.toMatchObject({
      details: { reason: 'blocked_address' },
    });
    expect(connections).toBe(0);
  });

  test('no request connects to another port of a name that is allowed at one', async () => {
    const one = outbound(answering([['127.0.0.1']]), [
      { kind: 'host', host: 'crm.internal', port: port + 1 },
    ]);
    const call = one.request({ method: 'GET', url: `https://crm.internal:${port}/`, timeoutMs: 1000 });
    await expect(call).rejects.toMatchObject({ details: { reason: 'blocked_address' } });
    expect(connections).toBe(0);
  });

  test('no request reaches our own sandbox without permission or outside its folder', async () => {
    const strict = outbound();
    strict.allowSandbox(async () => `http://127.0.0.1:${port}`);
    for (const [path, allowSandbox] of [
      ['/sandbox/x', false],
      ['/api/servers', true],
      ['/sandbox/../api/servers', true],
      ['/sandbox/%2e%2e/api/servers', true],
      ['/sandbox\\..\\api', true],
    ] as const) {
      const url = `https://sandbox.invalid${path}`;
      await expect(
        strict.request({ method: 'GET', url, allowSandbox, timeoutMs: 3000 }),
      ).rejects.toMatchObject({ code: 'upstream_failed' });
    }
    expect(connections).toBe(0);
    await expect(
      strict.request({ method: 'GET', url: 'https://sandbox.invalid/sandbox/x', allowSandbox: true }),
    ).rejects.toMatchObject({ code: 'upstream_failed' });
    expect(connections).toBe(1);
  });
});

/** Returns a resolver that gives one answer after the other, and then repeats the last one. */
function answering(answers: string[][]): Lookup {
  let at = 0;
  return (_name, _options, callback) => {
    const list = answers[Math.min(at++, answers.length - 1)] ?? [];
    callback(
      null,
      list.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
}
