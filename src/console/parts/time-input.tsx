import { TextInput } from '@mantine/core';

const MINUTE_MS = 60_000;

/** A time in the zone of the browser. Its value is in UTC, as the API has times, and empty without a time. */
export function TimeInput({
  label,
  value,
  change,
  description,
}: {
  label: string;
  value: string;
  change: (value: string) => void;
  description?: string;
}) {
  return (
    <TextInput
      type="datetime-local"
      label={label}
      {...(description === undefined ? {} : { description })}
      w={210}
      value={localOf(value)}
      onChange={(event) => {
        const text = event.currentTarget.value;
        change(text === '' ? '' : new Date(text).toISOString());
      }}
    />
  );
}

function localOf(iso: string): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return '';
  return new Date(time.getTime() - time.getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, 16);
}
