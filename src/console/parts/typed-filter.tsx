import { TextInput } from '@mantine/core';
import { useEffect, useState } from 'react';

const TYPING_MS = 350;

/** A filter that takes effect after a pause of typing. */
export function TypedFilter({
  label,
  value,
  change,
  placeholder,
  width = 150,
}: {
  label: string;
  value: string;
  change: (value: string) => void;
  placeholder?: string;
  width?: number;
}) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => change(text.trim()), TYPING_MS);
    return () => clearTimeout(timer);
    // The change follows the text. Other renders must not restart the pause.
  }, [text]);
  return (
    <TextInput
      label={label}
      w={width}
      maw="100%"
      {...(placeholder === undefined ? {} : { placeholder })}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      spellCheck={false}
      autoComplete="off"
    />
  );
}
