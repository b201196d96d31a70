import { Anchor } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { rest } from '../rest-client.ts';
import { useScope } from '../signed-in.ts';
import { Breakable } from './values.tsx';

/** Ids of one request, which is also the most that the API takes. */
const AT_ONCE = 50;
/** Names that the rows of a table ask for within this time share a request. */
const GATHER_MS = 5;

interface Reader {
  resolve(name: string | null): void;
  reject(error: unknown): void;
}

const waiting = new Map<string, Reader[]>();

/** Returns the name of a user. Null while it is read, for a deleted user, and where the session may not read it. */
export function useUsername(userId: string | null | undefined): string | null {
  const enabled = useScope('users:read') && Boolean(userId);
  const { data = null } = useQuery({
    queryKey: ['username', userId ?? ''],
    queryFn: () => readName(userId ?? ''),
    meta: { topics: ['administration'] },
    enabled,
  });
  return data;
}

/** The name of a user, which leads to the user. The id stands for an unknown name. */
export function UserName({ userId }: { userId: string }) {
  const name = useUsername(userId);
  return (
    <Anchor
      component={Link}
      to={`/users/${encodeURIComponent(userId)}`}
      size="sm"
      className={name === null ? 'mono' : undefined}
      style={{ overflowWrap: name === null ? 'anywhere' : 'break-word' }}
    >
      {name === null ? userId : <Breakable text={name} />}
    </Anchor>
  );
}

function readName(userId: string): Promise<string | null> {
  return new Promise((resolve, reject) => {
    if (waiting.size === 0) setTimeout(readWaiting, GATHER_MS);
    const readers = waiting.get(userId) ?? [];
    waiting.set(userId, [...readers, { resolve, reject }]);
  });
}

function readWaiting(): void {
  const all = [...waiting];
  waiting.clear();
  for (let first = 0; first < all.length; first += AT_ONCE) void readSome(all.slice(first, first + AT_ONCE));
}

async function readSome(wanted: readonly (readonly [string, Reader[]])[]): Promise<void> {
  const userIds = wanted.map(([userId]) => userId).join(',');
  try {
    const { data } = await rest('GET', '/users', { query: { userIds, limit: AT_ONCE } });
    const names = new Map(data.map((one) => [one.userId, one.username]));
    for (const [userId, readers] of wanted)
      for (const { resolve } of readers) resolve(names.get(userId) ?? null);
  } catch (error) {
    for (const { reject } of wanted.flatMap(([, readers]) => readers)) reject(error);
  }
}
