import { afterAll, beforeAll, expect, test } from 'vitest';
import { startService, type Service } from '../support/service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
  // The first request loads REST.
  await service.call('GET', '/health', { bearer: null });
});
afterAll(() => service?.stop());

test('/health is answered while hundreds of requests that came before it wait', async () => {
  let answered = 0;
  const burst = Array.from({ length: 400 }, async () => {
    const { status } = await service.call('GET', '/api/servers');
    answered += 1;
    return status;
  });
  const health = await service.call('GET', '/health', { bearer: null });
  expect(answered).toBeLessThan(200);
  expect(health.status).toBe(200);
  expect(new Set(await Promise.all(burst))).toEqual(new Set([200]));
});
