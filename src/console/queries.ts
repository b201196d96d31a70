import { keepPreviousData, QueryClient, useQuery } from '@tanstack/react-query';
import { RestError, rest } from './rest-client.ts';
import type { Session, SessionAnswer } from './signed-in.ts';

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
  userId?: string | undefined;
  enabled?: boolean;
  /** Interval of further reads in ms, for things that no topic covers. */
  everyMs?: number | false;
}

/** Reads a path of the API, and again when a topic of it changes. */
export function useRest<T>(path: string, { topics = [], userId, enabled, everyMs }: ReadOptions = {}) {
  return useQuery({
    queryKey: [path, userId ?? null],
    queryFn: ({ signal }) => rest<T>(path, { signal, userId }),
    meta: { topics: ['administration', ...topics] },
    placeholderData: keepPreviousData,
    ...(enabled === undefined ? {} : { enabled }),
    ...(everyMs ? { refetchInterval: everyMs } : {}),
  });
}

/** A page of a list of the API. */
export interface ListPage<T> {
  data: T[];
  pagination: { hasMore: boolean; nextCursor?: string; nextOffset?: number };
}

/** Reads all pages of a list that stays short, such as the versions of a workflow. Other lists have a pager. */
export function useAll<T>(path: string, { topics = [], userId, enabled = true }: ReadOptions = {}) {
  return useQuery({
    queryKey: [path, userId ?? null, 'all'],
    queryFn: async ({ signal }) => {
      const all: T[] = [];
      let position = 'offset=0';
      for (;;) {
        const joint = path.includes('?') ? '&' : '?';
        const { data, pagination } = await rest<ListPage<T>>(`${path}${joint}limit=50&${position}`, {
          signal,
          userId,
        });
        all.push(...data);
        if (!pagination.hasMore) return all;
        position = pagination.nextCursor ? `cursor=${pagination.nextCursor}` : `offset=${all.length}`;
      }
    },
    meta: { topics: ['administration', ...topics] },
    enabled,
  });
}
