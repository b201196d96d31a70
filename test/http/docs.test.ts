import { expect, test } from 'vitest';
import { startService } from '../support/service.ts';

test('the bare address leads a browser to the reference, which names every operation', async () => {
  const service = await startService();
  try {
    const page = await fetch(service.url);
    expect([page.url, page.status]).toEqual([`${service.url}/docs`, 200]);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const text = await page.text();
    const { paths } = (await (await fetch(`${service.url}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { summary: string }>>;
    };
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({ path, method })),
    );
    expect(operations.length).toBeGreaterThan(80);
    for (const { path } of operations) expect(text).toContain(path);
  } finally {
    await service.stop();
  }
});
