import { Button, Group, Skeleton, Stack } from '@mantine/core';
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Page } from '../../client/list-reading.ts';
import type { useCursor } from './search-params.ts';
import { ErrorNotice } from './error-notice.tsx';

export interface Column<T> {
  label: string;
  cell: (row: T) => ReactNode;
  /** Numbers stand at the end of their cell. */
  end?: boolean;
}

interface RecordsProps<T> {
  /** Name of the table for screen readers. */
  label: string;
  columns: Column<T>[];
  rows: readonly T[];
  keyOf: (row: T) => string;
}

/** A table, whose rows become stacked records on narrow screens. The first column leads. */
export function Records<T>({ label, columns, rows, keyOf }: RecordsProps<T>) {
  return (
    <table className="records" aria-label={label}>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.label} scope="col" className={column.end ? 'end' : undefined}>
              {column.label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map((column, at) => (
              <td
                key={column.label}
                data-label={column.label}
                data-lead={at === 0 || undefined}
                className={column.end ? 'end' : undefined}
              >
                {column.cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Placeholder of a table that is being read. */
export function Loading({ rows = 5 }: { rows?: number }) {
  return (
    <Stack gap="xs" p="md" role="status" aria-busy aria-label="Loading">
      {Array.from({ length: rows }, (_, at) => (
        <Skeleton key={at} height={24} />
      ))}
    </Stack>
  );
}

interface ListProps<T> extends Omit<RecordsProps<T>, 'rows'> {
  list: UseQueryResult<Page<T>>;
  empty: ReactNode;
  /** The steps of useCursor(), and the words of the buttons. */
  pager?: Omit<PagerProps, 'following'>;
}

/** A page of a list in each of its states: loading, failed, empty, filled. Buttons lead to the pages around it. */
export function List<T>({ list, empty, pager, ...records }: ListProps<T>) {
  if (list.isPending) return <Loading />;
  if (list.isError && !list.data)
    return (
      <Stack p="md">
        <ErrorNotice error={list.error} again={() => void list.refetch()} />
      </Stack>
    );
  return (
    <>
      {list.data.data.length === 0 ? empty : <Records {...records} rows={list.data.data} />}
      {pager && <Pager {...pager} following={list.data.pagination.nextCursor} />}
    </>
  );
}

interface UnpagedListProps<T> extends Omit<RecordsProps<T>, 'rows'> {
  list: UseQueryResult<T[]>;
  empty: ReactNode;
}

/** A list without pages in each of its states. */
export function UnpagedList<T>({ list, empty, ...records }: UnpagedListProps<T>) {
  if (list.isPending) return <Loading />;
  if (list.isError && !list.data)
    return (
      <Stack p="md">
        <ErrorNotice error={list.error} again={() => void list.refetch()} />
      </Stack>
    );
  return list.data.length === 0 ? empty : <Records {...records} rows={list.data} />;
}

interface PagerProps extends Omit<ReturnType<typeof useCursor>, 'cursor'> {
  /** The word for the records, such as `calls`. */
  of: string;
  /** Whether the list begins with the oldest record. */
  oldestFirst?: boolean;
  /** Cursor of the next page; undefined on the last one. */
  following: string | undefined;
}

/** Buttons to the page before and the next page of a list with cursors, which useCursor() keeps. */
function Pager({ of, oldestFirst = false, back, next, following }: PagerProps) {
  if (!back && following === undefined) return null;
  const [first, before, after] = oldestFirst ? ['Oldest', 'Earlier', 'Later'] : ['Newest', 'Newer', 'Older'];
  return (
    <Group justify="space-between" p="sm" style={{ borderTop: '1px solid var(--line)' }}>
      <Button
        variant="default"
        size="xs"
        disabled={!back}
        onClick={back}
        leftSection={<IconChevronLeft size={15} aria-hidden />}
      >
        {before}
      </Button>
      <span>
        {back ? after : first} {of}
      </span>
      <Button
        variant="default"
        size="xs"
        disabled={following === undefined}
        onClick={() => following !== undefined && next(following)}
        rightSection={<IconChevronRight size={15} aria-hidden />}
      >
        {after}
      </Button>
    </Group>
  );
}
