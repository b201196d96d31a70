import { createParser } from 'eventsource-parser';
import { useEffect, useState } from 'react';
import { queries, SESSION_KEY } from './queries.ts';
import { isObject, send } from './rest-client.ts';

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;
/** Changes closer together than this cause one read. */
const TOGETHER_MS = 700;

/** Listens to changes while the component is mounted, and reads the page's data again. Returns whether it is connected. */
export function useLive(): boolean {
  const [isConnected, setConnected] = useState(false);
  useEffect(() => {
    const stop = new AbortController();
    void listen(stop.signal, setConnected);
    return () => stop.abort();
  }, []);
  return isConnected;
}

async function listen(signal: AbortSignal, setConnected: (connected: boolean) => void): Promise<void> {
  let waitMs = FIRST_WAIT_MS;
  let isFirst = true;
  while (!signal.aborted) {
    try {
      const response = await send('GET', '/console/live', { signal });
      if (response.status === 401) await queries.invalidateQueries({ queryKey: SESSION_KEY });
      if (response.ok && response.body) {
        setConnected(true);
        waitMs = FIRST_WAIT_MS;
        // Changes may have been missed while the stream was down.
        if (!isFirst) void queries.invalidateQueries();
        isFirst = false;
        await readEvents(response.body);
      }
    } catch {
      // The next try follows below.
    }
    setConnected(false);
    if (signal.aborted) return;
    await new Promise((next) => setTimeout(next, waitMs));
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
  }
}

async function readEvents(body: ReadableStream<Uint8Array>): Promise<void> {
  const parser = createParser({
    onEvent: ({ event, data }) => {
      if (event === 'changed') changed(topicsIn(data));
    },
  });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read())
    parser.feed(decoder.decode(part.value, { stream: true }));
}

function topicsIn(data: string): string[] {
  const value: unknown = JSON.parse(data);
  return isObject(value) && Array.isArray(value['topics']) ? value['topics'].map(String) : [];
}

const waiting = new Set<string>();
let timer: ReturnType<typeof setTimeout> | undefined;

function changed(topics: string[]): void {
  for (const topic of topics) waiting.add(topic);
  timer ??= setTimeout(() => {
    timer = undefined;
    const now = new Set(waiting);
    waiting.clear();
    void queries.invalidateQueries({
      predicate: ({ meta }) => {
        const wanted = meta?.['topics'];
        return Array.isArray(wanted) && wanted.some((topic) => now.has(String(topic)));
      },
    });
  }, TOGETHER_MS);
}
