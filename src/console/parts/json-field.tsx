import { Textarea } from '@mantine/core';
import { useEffect, useRef, useState, type ReactNode } from 'react';

interface JsonFieldProps {
  label: string;
  description?: ReactNode;
  placeholder?: string | undefined;
  required?: boolean;
  value: unknown;
  /** Called with each valid value; undefined when the field is empty. */
  onChange: (value: unknown) => void;
  /** Called when the text begins or ends to be invalid. */
  onFault: (isFaulty: boolean) => void;
  /** Returns what is wrong with a value that is JSON. */
  check?: (value: unknown) => string | undefined;
  minRows?: number;
}

/** A text area for a value as JSON. Text that is no JSON stays in it, with the reason. */
export function JsonField({ value, onChange, onFault, check, minRows = 3, ...shown }: JsonFieldProps) {
  const [text, setText] = useState(() => textOf(value));
  const [fault, setFault] = useState<string>();
  const last = useRef(value);
  // The value changed elsewhere.
  useEffect(() => {
    if (last.current === value) return;
    last.current = value;
    setText(textOf(value));
    setFault(undefined);
  }, [value]);
  const isFaulty = fault !== undefined;
  useEffect(() => {
    onFault(isFaulty);
    return () => onFault(false);
    // The function is new at each render and does the same.
  }, [isFaulty]);

  const type = (typed: string) => {
    setText(typed);
    const read = parse(typed);
    const problem = 'fault' in read ? read.fault : check?.(read.value);
    setFault(problem);
    if (problem !== undefined || 'fault' in read) return;
    last.current = read.value;
    onChange(read.value);
  };
  return (
    <Textarea
      {...shown}
      value={text}
      onChange={(event) => type(event.currentTarget.value)}
      error={fault}
      autosize
      minRows={minRows}
      maxRows={24}
      spellCheck={false}
      autoComplete="off"
      classNames={{ input: 'mono' }}
    />
  );
}

function textOf(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value, null, 2);
}

function parse(text: string): { value: unknown } | { fault: string } {
  if (text.trim() === '') return { value: undefined };
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { fault: `This is no JSON: ${error instanceof Error ? error.message : 'it cannot be read'}` };
  }
}
