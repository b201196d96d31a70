import { ActionIcon, Badge, CopyButton, Group, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { Fragment, useEffect, useState, type ReactNode } from 'react';

const STEP_MS = 15_000;
const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const exact = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/** A time relative to now, with the exact time in its tooltip. */
export function When({ at }: { at: string | null | undefined }) {
  const [, step] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => step((n) => n + 1), STEP_MS);
    return () => clearInterval(timer);
  }, []);
  if (!at) return <span>never</span>;
  const time = new Date(at);
  return (
    <Tooltip label={exact.format(time)} events={{ hover: true, focus: true, touch: true }}>
      <time dateTime={at} className="nowrap">
        {ago(time.getTime() - Date.now())}
      </time>
    </Tooltip>
  );
}

/** An exact time. */
export function Moment({ at }: { at: string }) {
  return <time dateTime={at}>{exact.format(new Date(at))}</time>;
}

function ago(ms: number): string {
  for (const [unit, size] of UNITS) {
    if (Math.abs(ms) >= size) return relative.format(Math.round(ms / size), unit);
  }
  return ms > 0 ? 'in a moment' : 'just now';
}

/** Returns a duration in the unit that a person reads best. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '–';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

const numbers = new Intl.NumberFormat('en');

export function count(n: number): string {
  return numbers.format(n);
}

/** Returns a number with its noun: `1 server`, `2 servers`. */
export function some(n: number, noun: string): string {
  return `${count(n)} ${noun}${n === 1 ? '' : 's'}`;
}

/** A button that copies a text. */
export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  return (
    <CopyButton value={text} timeout={1500}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : label}>
          <ActionIcon
            variant="subtle"
            color={copied ? 'green' : 'gray'}
            size={26}
            onClick={copy}
            aria-label={copied ? 'Copied' : label}
          >
            {copied ? <IconCheck size={15} /> : <IconCopy size={15} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}

/** An id with a button that copies it. */
export function Id({ value }: { value: string }) {
  return (
    <Group gap={4} wrap="nowrap" style={{ display: 'inline-flex' }} miw={0}>
      <span className="mono">{value}</span>
      <Copy text={value} label="Copy the id" />
    </Group>
  );
}

/** A name such as `sandbox.list_orders`. Lines break at its parts, and never within a word. */
export function Name({ value }: { value: string }) {
  return (
    <span className="mono name">
      <Breakable text={value} />
    </span>
  );
}

/** A name or an address, in which lines break after signs. */
export function Breakable({ text }: { text: string }) {
  return text.split(/(?<=[._@/-])(?=\w)/).map((part, at) => (
    <Fragment key={at}>
      {at > 0 && <wbr />}
      {part}
    </Fragment>
  ));
}

const STATES: Record<string, { color: string; text?: string }> = {
  succeeded: { color: 'green' },
  failed: { color: 'red' },
  denied: { color: 'orange' },
  active: { color: 'green' },
  enabled: { color: 'green' },
  needs_reconnect: { color: 'red', text: 'needs reconnect' },
  revoked: { color: 'gray' },
  disabled: { color: 'gray' },
  dead: { color: 'red', text: 'given up' },
  waiting: { color: 'blue' },
  cancelled: { color: 'gray' },
  given: { color: 'gray' },
  queued: { color: 'blue' },
  running: { color: 'gate' },
  expired: { color: 'gray' },
  read: { color: 'gray' },
  write: { color: 'blue' },
  destructive: { color: 'red' },
  added: { color: 'green' },
  changed: { color: 'orange' },
  removed: { color: 'red' },
};

/** A state as a coloured word. */
export function State({ value, children }: { value: string; children?: ReactNode }) {
  const { color, text } = STATES[value] ?? { color: 'gray' };
  return (
    <Badge variant="light" color={color} tt="none" fw={600}>
      {children ?? text ?? value.replaceAll('_', ' ')}
    </Badge>
  );
}
