import { expect, test } from 'vitest';
import { ConfigError, readConfig } from '../src/config.ts';
import { HOUR, MINUTE, SECOND } from '../src/lib/clock.ts';

test('a configuration without variables has a local server on SQLite with the sandbox', () => {
  const config = readConfig({ HOME: '/home/ada' });
  expect(config).toMatchObject({ host: '127.0.0.1', port: 3000, sandbox: true, production: false });
  expect(config.database).toMatchObject({ kind: 'sqlite' });
  expect(config.mcpRateLimit).toEqual({ points: 100, windowSeconds: 60 });
});

test('the sandbox is off beyond loopback and in production', () => {
  expect(readConfig({ HOST: '0.0.0.0' }).sandbox).toBe(false);
  expect(readConfig({ NODE_ENV: 'production' }).sandbox).toBe(false);
});

test.each([
  [{ PORT: 'eighty' }, 'PORT: must be a whole number from 0 to 65535, got "eighty"'],
  [{ PORT: '70000' }, 'PORT: must be a whole number from 0 to 65535'],
  [{ DATABASE_URL: 'mysql://x' }, 'DATABASE_URL: must begin with sqlite: or postgres://'],
  [
    { GATEHOUSE_PUBLIC_URL: 'gatehouse.example' },
    'GATEHOUSE_PUBLIC_URL: must be an http:// or https:// address',
  ],
  [{ GATEHOUSE_ALLOWED_NETWORKS: '10.0.0.0' }, 'GATEHOUSE_ALLOWED_NETWORKS: "10.0.0.0" is neither a CIDR'],
  [{ GATEHOUSE_RATE_LIMIT_MCP: 'often' }, 'GATEHOUSE_RATE_LIMIT_MCP: must be <requests>/<seconds>s'],
  [{ GATEHOUSE_RATE_LIMIT_USERS: '0/60s' }, 'GATEHOUSE_RATE_LIMIT_USERS: must be <requests>/<seconds>s'],
  [{ GATEHOUSE_JWT_ISSUERS: '{' }, 'GATEHOUSE_JWT_ISSUERS: is not JSON'],
  [{ GATEHOUSE_JWT_ISSUERS: '[{"issuer":"x"}]' }, 'GATEHOUSE_JWT_ISSUERS: 0.jwksUrl'],
  [
    { GATEHOUSE_CLIENT_METADATA_URL: 'http://example.com/gatehouse.json' },
    'GATEHOUSE_CLIENT_METADATA_URL: must be an https:// address with a path',
  ],
  [
    { GATEHOUSE_CLIENT_METADATA_URL: 'https://example.com' },
    'GATEHOUSE_CLIENT_METADATA_URL: must be an https:// address with a path',
  ],
  [{ GATEHOUSE_SANDBOX: '1', HOST: '0.0.0.0' }, 'GATEHOUSE_SANDBOX: needs a loopback HOST'],
  [
    { GATEHOUSE_ALLOW_PRIVATE_NETWORK: '1', NODE_ENV: 'production' },
    'GATEHOUSE_ALLOW_PRIVATE_NETWORK: is for development',
  ],
  [{ GATEHOUSE_SANDBOX: 'perhaps' }, 'GATEHOUSE_SANDBOX: must be 1 or 0'],
  [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL: must be fatal'],
  [{ GATEHOUSE_MASTER_KEY: 'short' }, 'GATEHOUSE_MASTER_KEY: key 1 is not 32 bytes of base64'],
  [{ GATEHOUSE_MASTER_KEY_FILE: '/nowhere/key' }, 'GATEHOUSE_MASTER_KEY_FILE: /nowhere/key cannot be read'],
  [
    { GATEHOUSE_RETRY_SCHEDULE: 'soon' },
    'GATEHOUSE_RETRY_SCHEDULE: must be 1 to 20 waits in seconds such as 5,300,1800, got "soon"',
  ],
  [{ GATEHOUSE_RETRY_SCHEDULE: ',' }, 'GATEHOUSE_RETRY_SCHEDULE: must be 1 to 20 waits'],
  [{ GATEHOUSE_RETRY_SCHEDULE: '5,-1' }, 'GATEHOUSE_RETRY_SCHEDULE: must be 1 to 20 waits'],
  [{ GATEHOUSE_RETRY_SCHEDULE: '5 300' }, 'GATEHOUSE_RETRY_SCHEDULE: must be 1 to 20 waits'],
  [{ GATEHOUSE_RETRY_SCHEDULE: '1e3' }, 'GATEHOUSE_RETRY_SCHEDULE: must be 1 to 20 waits'],
  [{ GATEHOUSE_RETRY_SCHEDULE: '10000000' }, 'GATEHOUSE_RETRY_SCHEDULE: must be 1 to 20 waits'],
  [
    { GATEHOUSE_RETRY_SCHEDULE: Array(21).fill('5').join() },
    'GATEHOUSE_RETRY_SCHEDULE: must be 1 to 20 waits',
  ],
  [{ GATEHOUSE_POLL_INTERVAL: '0' }, 'GATEHOUSE_POLL_INTERVAL: must be a whole number from 1 to 86400'],
  [{ GATEHOUSE_POLL_INTERVAL: '86401' }, 'GATEHOUSE_POLL_INTERVAL: must be a whole number from 1 to 86400'],
  [{ GATEHOUSE_POLL_INTERVAL: '1.5' }, 'GATEHOUSE_POLL_INTERVAL: must be a whole number from 1 to 86400'],
])('%j is refused: %s', (env, line) => {
  expect(() => readConfig(env)).toThrow(ConfigError);
  expect(() => readConfig(env)).toThrow(line);
});

test('all faults are reported at once', () => {
  const faults = (() => {
    try {
      readConfig({ PORT: 'x', LOG_LEVEL: 'y' });
      return [];
    } catch (error) {
      return error instanceof ConfigError ? error.faults : [];
    }
  })();
  expect(faults).toHaveLength(2);
});

test('networks are CIDRs or host and port', () => {
  const { allowedNetworks } = readConfig({
    GATEHOUSE_ALLOWED_NETWORKS: '10.1.0.0/16, shop.internal:8443,[fd00::1]:80',
  });
  expect(allowedNetworks).toEqual([
    { kind: 'cidr', address: '10.1.0.0', bits: 16 },
    { kind: 'host', host: 'shop.internal', port: 8443 },
    { kind: 'host', host: '[fd00::1]', port: 80 },
  ]);
});

test('deliveries retry nine times and apps are polled every minute by default', () => {
  const { retrySchedule, pollIntervalSeconds } = readConfig({});
  const hours = [2, 5, 10, 14, 20, 24].map((some) => some * HOUR);
  expect(retrySchedule).toEqual([5 * SECOND, 5 * MINUTE, 30 * MINUTE, ...hours]);
  expect(pollIntervalSeconds).toBe(60);
});

test('delays and the poll interval are in seconds, at most twenty delays', () => {
  const read = (waits: string, interval: string) => {
    const config = readConfig({ GATEHOUSE_RETRY_SCHEDULE: waits, GATEHOUSE_POLL_INTERVAL: interval });
    return [config.retrySchedule, config.pollIntervalSeconds];
  };
  expect(read('0.25, 60,9999999', '86400')).toEqual([[250, MINUTE, 9_999_999 * SECOND], 86_400]);
  expect(read(Array(20).fill('5').join(), '1')).toEqual([Array(20).fill(5 * SECOND), 1]);
});

test('unknown variables are listed', () => {
  const env = { GATEHOUSE_PUBLIC_URI: 'https://x.example', GATEHOUSE_SANDBOX: '1', OTHER: '1' };
  expect(readConfig(env).unknownVariables).toEqual(['GATEHOUSE_PUBLIC_URI']);
});
