import { keepPreviousData, QueryClient, useQuery } from '@tanstack/react-query';
import { records, type Page, type Position } from '../client/list-reading.ts';
import type { ListPathOf, Optional, RecordIn } from '../client/operation-types.ts';
import type { Session, SessionAnswer } from './console-paths.ts';
import {
  addressOf,
  readAny,
  RestError,
  type ConsoleRequest,
  type Paths,
  type ReadPath,
  type RequestTo,
  type ValueAt,
} from './rest-client.ts';

/** A kind of things that change without this page. The server names these on the live stream. */
export type Topic = 'executions' | 'administration' | 'accounts' | 'runs';

const RETRIES = 2;

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (failures, error) => !(error instanceof RestError && error.status < 500) && failures < RETRIES,
    },
  },
});

const SESSION = '/console/session';
/** The query of the session. */
export const SESSION_KEY = [SESSION, null];

/** Replaces the session, and forgets what was read with the one before. */
export function replaceSession(session: Session | null): void {
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION });
  queries.setQueryData<SessionAnswer>(SESSION_KEY, (before) => ({
    signIn: before?.signIn ?? { provider: null },
    session,
  }));
}

interface ReadOptions {
  /** The topics whose changes make this stale. Administration always does. */
  topics?: Topic[];
  enabled?: boolean;
  /** Interval of further reads in ms, for things that no topic covers. */
  everyMs?: number | false;
}

type Reading = ConsoleRequest & ReadOptions;
type ReadOf<P extends ReadPath> = Omit<RequestTo<'GET', P>, 'body' | 'signal'> & ReadOptions;

/** Reads an address of the API, and again when a topic of it changes. */
export function useRest<P extends ReadPath>(path: P, ...[reading]: Optional<ReadOf<P>>) {
  const { topics = [], enabled, everyMs, ...request }: Reading = reading ?? {};
  return useQuery({
    queryKey: keyOf(path, request),
    queryFn: ({ signal }) => readAny<ValueAt<'GET', P>>('GET', path, { ...request, signal }),
    meta: { topics: ['administration', ...topics] },
    placeholderData: keepPreviousData,
    ...(enabled === undefined ? {} : { enabled }),
    ...(everyMs ? { refetchInterval: everyMs } : {}),
  });
}

type ListPath = ListPathOf<Paths> & ReadPath;

/** Reads all pages of a list that stays short, such as the versions of a workflow. Other lists have a pager. */
export function useAll<P extends ListPath>(path: P, ...[reading]: Optional<ReadOf<P>>) {
  const { topics = [], enabled = true, ...request }: Reading = reading ?? {};
  return useQuery({
    queryKey: [...keyOf(path, request), 'all'],
    queryFn: async ({ signal }) => {
      type One = RecordIn<ValueAt<'GET', P>>;
      const read = (position: Position) => {
        const query = { ...request.query, limit: 50, ...position };
        return readAny<Page<One>>('GET', path, { ...request, query, signal });
      };
      const all: One[] = [];
      for await (const one of records(read)) all.push(one);
      return all;
    },
    meta: { topics: ['administration', ...topics] },
    enabled,
  });
}

function keyOf(path: string, request: ConsoleRequest): unknown[] {
  return [addressOf(path, request), request.userId ?? null];
}
